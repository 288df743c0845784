package traffic

import "time"

// HealthCheck is the request by which a host checks the health of a target of a group.
type HealthCheck struct {
	Disabled bool          `json:"disabled,omitempty"` // a target is healthy while its task runs
	Protocol Protocol      `json:"protocol"`           // HTTP or TCP
	Port     int           `json:"port,omitempty"`     // 0: the target's own
	Path     string        `json:"path,omitempty"`     // of HTTP; of gRPC its method
	Matcher  string        `json:"matcher,omitempty"`  // of HTTP: the codes of a healthy answer, as "200,202" or "200-299"; of gRPC its status codes
	Interval time.Duration `json:"interval"`
	Timeout  time.Duration `json:"timeout"`
	// So many checks in a row make a target healthy or unhealthy.
	HealthyThreshold   int `json:"healthyThreshold"`
	UnhealthyThreshold int `json:"unhealthyThreshold"`
}

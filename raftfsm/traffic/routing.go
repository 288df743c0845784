package traffic

import (
	"time"

	"pinion/raftfsm/tasknetwork"
)

// Routing is all that the proxy of a host needs to know: which ports it listens on, and where the requests go. Every host of the pool has the
// same. A Routing that was handed on is not changed any more.
type Routing struct {
	Listeners []Listener `json:"listeners,omitempty"` // one for each port
	Groups    []Group    `json:"groups,omitempty"`    // those that rules name, and others
	// TaskNetworks has the routes to tasks with addresses of their own, by the ids of their hosts.
	TaskNetworks []tasknetwork.Route `json:"taskNetworks,omitempty"`
}

// Protocol is the protocol of a listener or of a group's targets, in ELB's words.
type Protocol string

// Protocols. A group's is HTTP or TCP.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
	TCP   Protocol = "TCP"
	TLS   Protocol = "TLS" // ended at the proxy; the targets get TCP
)

// ACMEPrefix begins the name of a certificate that comes from a CA by ACME (RFC 8555); the rest is a DNS name.
const ACMEPrefix = "acme/"

// Listener is one port that each host listens on.
type Listener struct {
	ID       string   `json:"id"`
	Port     int      `json:"port"`
	Protocol Protocol `json:"protocol"`
	// Certificates are names: NAME.crt and NAME.key lie in the host's directory of certificates; acme/DNSNAME comes by ACME. The name that the client asks for (SNI) chooses
	// among them; the first is for clients whose name none fits.
	Certificates []string `json:"certificates,omitempty"`
	// Rules are in the order of their priorities, the default one, without conditions, last. A listener of TCP or TLS has that one only, and it
	// forwards.
	Rules []Rule `json:"rules,omitempty"`
	// IdleTimeout is the time for which a connection may be silent: 0 is DefaultIdleTimeout, or DefaultTCPIdleTimeout.
	IdleTimeout   time.Duration `json:"idleTimeout,omitempty"`
	XForwardedFor XFFMode       `json:"xForwardedFor,omitempty"`
	// RequestTimeout bounds the time of a request until its answer has come in full; 0 is no limit. Upgraded connections have none.
	RequestTimeout time.Duration `json:"requestTimeout,omitempty"`
	// XFFClientPort writes the client's port behind its address into X-Forwarded-For.
	XFFClientPort bool `json:"xffClientPort,omitempty"`
	// Virtual is the one address of the port; nil: all addresses of each host.
	Virtual *Virtual `json:"virtual,omitempty"`
}

// Idle timeouts of connections, unless the listener says otherwise.
const (
	DefaultIdleTimeout    = 300 * time.Second // also between two requests, and between two pieces of a stream
	DefaultTCPIdleTimeout = 3600 * time.Second
)

// XFFMode is the treatment of the header X-Forwarded-For of a request.
type XFFMode string

// What the attribute routing.http.xff_header_processing.mode may say.
const (
	XFFAppend   XFFMode = "append" // the default: the client's address is added at the end
	XFFPreserve XFFMode = "preserve"
	XFFRemove   XFFMode = "remove"
)

// Rule is an action and when it is taken: when all of the conditions hold.
type Rule struct {
	ID         string      `json:"id"`
	Conditions []Condition `json:"conditions,omitempty"`
	Action     Action      `json:"action"`
}

// ConditionField is the part of a request that a condition looks at.
type ConditionField string

// Fields of conditions, ELB's.
const (
	HostHeader    ConditionField = "host-header"
	PathPattern   ConditionField = "path-pattern"
	HTTPHeader    ConditionField = "http-header"
	RequestMethod ConditionField = "http-request-method"
	QueryString   ConditionField = "query-string"
	SourceIP      ConditionField = "source-ip"
)

// ExactHeader is a field of conditions of Service Connect: HTTPHeader whose values are no patterns, and case-sensitive.
const ExactHeader ConditionField = "exact-header"

// Condition holds when one of its values fits. Values of HostHeader, PathPattern, HTTPHeader and QueryString are patterns: * stands for any
// characters, ? for exactly one; only those of PathPattern are case-sensitive. RequestMethod is compared as it is; values of SourceIP are CIDR blocks.
type Condition struct {
	Field  ConditionField `json:"field"`
	Header string         `json:"header,omitempty"` // the name, of HTTPHeader and ExactHeader
	Values []string       `json:"values,omitempty"`
	Query  []QueryPair    `json:"query,omitempty"` // instead of Values, of QueryString
}

// QueryPair is a parameter of the query string; without a key, its value may be of any parameter.
type QueryPair struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value"`
}

// Action is the action for a request: exactly one of the three.
type Action struct {
	Forward       []WeightedGroup `json:"forward,omitempty"`
	Redirect      *Redirect       `json:"redirect,omitempty"`
	FixedResponse *FixedResponse  `json:"fixedResponse,omitempty"`
}

// MaxWeight bounds a weight, so that their sum is a number however many groups a rule has.
const MaxWeight = 1 << 30

// WeightedGroup gets its share of the requests: its weight of the sum of the weights, which are MaxWeight at most. One of weight 0 gets none.
type WeightedGroup struct {
	Group  string `json:"group"` // Group.ID
	Weight int    `json:"weight"`
}

// Redirect answers with another address. Parts may contain #{protocol}, #{host}, #{port}, #{path} and #{query}, which stand for those of the
// request; an empty part is that of the request.
type Redirect struct {
	Protocol   string `json:"protocol,omitempty"`
	Host       string `json:"host,omitempty"`
	Port       string `json:"port,omitempty"`
	Path       string `json:"path,omitempty"` // begins with /
	Query      string `json:"query,omitempty"`
	StatusCode int    `json:"statusCode"` // 301 or 302
}

// FixedResponse answers without a target.
type FixedResponse struct {
	StatusCode  int    `json:"statusCode"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"` // ELB's MessageBody
}

// Version is the version of HTTP that the targets of a group speak.
type Version string

// Versions of a group of HTTP, ELB's ProtocolVersion.
const (
	HTTP1 Version = "HTTP1"
	HTTP2 Version = "HTTP2" // without TLS
	GRPC  Version = "GRPC"  // HTTP2, and an error of the proxy is a gRPC status
)

// Algorithm is the rule by which one of several targets is chosen.
type Algorithm string

// Algorithms of groups, as the attribute load_balancing.algorithm.type names them.
const (
	LeastOutstanding Algorithm = "least_outstanding_requests" // the default: of two, the one with less in flight
	RoundRobin       Algorithm = "round_robin"
)

// Group is a target group as a proxy sees it.
type Group struct {
	ID            string        `json:"id"`
	Name          string        `json:"name,omitempty"`    // as people know it; empty: ID
	Protocol      Protocol      `json:"protocol"`          // HTTP or TCP
	Version       Version       `json:"version,omitempty"` // of HTTP; empty is HTTP1
	Algorithm     Algorithm     `json:"algorithm,omitempty"`
	SlowStart     time.Duration `json:"slowStart,omitempty"` // the share of a target that became healthy grows for so long
	Affinity      *Affinity     `json:"affinity,omitempty"`
	ProxyProtocol bool          `json:"proxyProtocol,omitempty"` // version 2, of TCP: the target is told the client's address
	// MaxWaiting requests wait for at most WaitTimeout while no target is healthy; the others are answered 503 with Retry-After. 0 is
	// DefaultMaxWaiting and DefaultWaitTimeout; less than 0 is none.
	MaxWaiting  int           `json:"maxWaiting,omitempty"`
	WaitTimeout time.Duration `json:"waitTimeout,omitempty"`
	// MaxInFlight requests of the group may be in flight or wait at each host; the others are answered 503 with Retry-After. 0 is no limit.
	MaxInFlight int `json:"maxInFlight,omitempty"`
	// Health is the health check of a target by its host; the proxy makes none.
	Health HealthCheck `json:"health,omitzero"`
	// DeregistrationDelay bounds the time for which a target is draining, before its task is stopped with requests in flight.
	DeregistrationDelay time.Duration `json:"deregistrationDelay,omitempty"`
	Targets             []Target      `json:"targets,omitempty"`
	// Owner is the service whose tasks are the targets; zero: no service has the group, or several have.
	Owner Owner `json:"owner,omitzero"`
}

// Owner is the service that answers the requests, as metrics name it. Proxies serve any.
type Owner struct {
	Cluster string `json:"cluster"`
	Team    string `json:"team,omitempty"`
	Service string `json:"service"` // its name
}

// What waits for a healthy target, unless the group says otherwise.
const (
	DefaultMaxWaiting  = 100
	DefaultWaitTimeout = 60 * time.Second
)

// AffinityBy is the property that requests have in common that go to the same target.
type AffinityBy string

// What a group's affinity may go by.
const (
	ByHeader   AffinityBy = "header"    // the value of the header Name
	ByCookie   AffinityBy = "cookie"    // a cookie that the proxy sets: the target that answered first, as of ELB's lb_cookie
	ByBody     AffinityBy = "body"      // the first Length bytes of the body
	BySourceIP AffinityBy = "source-ip" // the client's address; the only one of TCP
)

// Affinity sends requests that have something in common to the same target, as long as that one has no more than its share in flight
// (consistent hashing with bounded loads; a cookie counts whatever is in flight). Requests without it are balanced.
type Affinity struct {
	By     AffinityBy `json:"by"`
	Name   string     `json:"name,omitempty"`   // of the header, or of the cookie: AWSALB unless it says otherwise
	Length int        `json:"length,omitempty"` // at most MaxAffinityLength
	// Duration is the time for which the client keeps the cookie; 0 is until it ends.
	Duration time.Duration `json:"duration,omitempty"`
}

// MaxAffinityLength bounds the part of a body that is held back to choose a target.
const MaxAffinityLength = 64 << 10

// TargetState says whether a target gets requests.
type TargetState string

// States of targets, ELB's. Only those that are healthy get new requests.
const (
	Initial   TargetState = "initial" // not yet found healthy
	Healthy   TargetState = "healthy"
	Unhealthy TargetState = "unhealthy"
	Draining  TargetState = "draining" // what is in flight goes on
)

// Target is one place that requests go to: a container port of a task.
type Target struct {
	ID      string      `json:"id"`      // a TargetID; the same as long as it is the same process
	Address string      `json:"address"` // host:port, as other hosts reach it
	State   TargetState `json:"state"`
	Since   time.Time   `json:"since,omitzero"`  // of State
	Owner   *Owner      `json:"owner,omitempty"` // nil: that of the group
}

// IsHTTP reports whether listeners and groups of the protocol carry requests, not bare connections.
func (p Protocol) IsHTTP() bool { return p == HTTP || p == HTTPS }

// EndsTLS reports whether listeners of the protocol need certificates.
func (p Protocol) EndsTLS() bool { return p == HTTPS || p == TLS }

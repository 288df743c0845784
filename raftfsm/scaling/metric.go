package scaling

import (
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/metric"
)

// Metric says what a policy follows, in AWS's words. Source gives the series.
type Metric struct {
	Predefined string      `json:"predefined,omitempty"` // a PredefinedMetricType; else the rest
	Label      string      `json:"label,omitempty"`      // resource label of ALBRequestCountPerTarget
	Namespace  string      `json:"namespace,omitempty"`
	Name       string      `json:"name,omitempty"`
	Statistic  string      `json:"statistic,omitempty"`
	Unit       string      `json:"unit,omitempty"` // echoed
	Dimensions []Dimension `json:"dimensions,omitempty"`
}

// Dimension tells metrics of one name apart.
type Dimension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Namespace is the namespace of Pinion's own metrics, NamespaceExported that of the metrics that containers export. Some metrics have their names of AWS
// too, in NamespaceECS and NamespaceELB.
const (
	Namespace         = "Pinion"
	NamespaceExported = "Pinion/Prometheus"
	NamespaceECS      = "AWS/ECS"
	NamespaceELB      = "AWS/ApplicationELB"
)

// namesOfAWS are the metrics that have the same name in a namespace of AWS.
var namesOfAWS = map[string][]metric.Name{NamespaceECS: {metric.CPU, metric.Memory}, NamespaceELB: {metric.Requests}}

// exportedName is a name that Prometheus takes without quotes.
var exportedName = lazyregexp.New(`^[a-zA-Z_:][a-zA-Z0-9_:]{0,254}$`)

// Predefined metric types, verbatim from AWS.
const (
	PredefinedCPU      = "ECSServiceAverageCPUUtilization"
	PredefinedMemory   = "ECSServiceAverageMemoryUtilization"
	PredefinedRequests = "ALBRequestCountPerTarget"
)

// DimensionGroup is the dimension of InFlight and Requests that says of which target group: targetgroup/NAME/ID.
const DimensionGroup = "TargetGroup"

// Source is the series that the metric is of, or why there is none.
func (m *Metric) Source() (metric.Name, error) {
	switch m.Predefined {
	case "":
		return m.customized()
	case PredefinedCPU:
		return metric.CPU, nil
	case PredefinedMemory:
		return metric.Memory, nil
	case PredefinedRequests:
		_, group, ok := m.LabelIDs()
		if !ok {
			return "", fmt.Errorf("ResourceLabel of %s must be app/LOAD-BALANCER/ID/targetgroup/TARGET-GROUP/ID, not %q", m.Predefined, m.Label)
		}
		return metric.Requests.WithPart(group), nil
	}
	return "", fmt.Errorf("PredefinedMetricType %s is not supported: there are %s, %s and %s", m.Predefined, PredefinedCPU, PredefinedMemory, PredefinedRequests)
}

// LabelIDs are the ids of the load balancer and of the target group in a resource label.
func (m *Metric) LabelIDs() (balancer, group string, ok bool) {
	parts := strings.Split(m.Label, "/")
	if len(parts) != 6 || parts[0] != "app" || slices.Contains(parts, "") {
		return "", "", false
	}
	group, ok = groupID(strings.Join(parts[3:], "/"))
	return parts[2], group, ok
}

// groupID is the id in targetgroup/NAME/ID.
func groupID(text string) (id string, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] != "targetgroup" || slices.Contains(parts, "") {
		return "", false
	}
	return parts[2], true
}

func (m *Metric) customized() (metric.Name, error) {
	source := metric.Name(m.Name)
	if m.Namespace == NamespaceExported {
		if !exportedName.MatchString(m.Name) {
			return "", fmt.Errorf("%q is no name of a Prometheus metric: it has to be of letters, digits, _ and :, at most 255", m.Name)
		}
		return metric.Exported.WithPart(m.Name), nil
	}
	switch {
	case slices.Contains(namesOfAWS[m.Namespace], source):
	case m.Namespace != Namespace:
		return "", fmt.Errorf("the namespace %q is not supported: metrics are in the namespace %s: %v, and those that containers export in %s", m.Namespace, Namespace, metric.Names(), NamespaceExported)
	case !slices.Contains(metric.Names(), source):
		return "", fmt.Errorf("the metric %q is not known: in the namespace %s there are %v", m.Name, Namespace, metric.Names())
	}
	group := m.Dimension(DimensionGroup)
	if group == "" {
		return source, nil
	}
	id, ok := groupID(group)
	if !ok || !source.OfProxies() {
		return "", fmt.Errorf("the dimension %s must be targetgroup/NAME/ID, not %q, and is of %s and %s only", DimensionGroup, group, metric.InFlight, metric.Requests)
	}
	return source.WithPart(id), nil
}

// Dimension is the value of a dimension, empty when there is none of that name.
func (m *Metric) Dimension(name string) string {
	for _, d := range m.Dimensions {
		if d.Name == name {
			return d.Value
		}
	}
	return ""
}

package scaling

import (
	"fmt"

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

// Namespace is where Pinion's own metrics are.
const Namespace = "Pinion"

// Predefined metric types, verbatim from AWS.
const (
	PredefinedCPU      = "ECSServiceAverageCPUUtilization"
	PredefinedMemory   = "ECSServiceAverageMemoryUtilization"
	PredefinedRequests = "ALBRequestCountPerTarget"
)

// Source is the series that the metric is of, or why there is none.
func (m *Metric) Source() (metric.Name, error) {
	switch m.Predefined {
	case PredefinedCPU:
		return metric.CPU, nil
	case PredefinedMemory:
		return metric.Memory, nil
	}
	if m.Predefined != "" {
		return "", fmt.Errorf("PredefinedMetricType %s is not supported: Pinion has no such metric yet", m.Predefined)
	}
	source := metric.Name(m.Name)
	switch {
	case m.Namespace != Namespace:
		return "", fmt.Errorf("the namespace %q is not supported: metrics are in the namespace %s: %v", m.Namespace, Namespace, metric.Names())
	case source.Words() == "":
		return "", fmt.Errorf("the metric %q is not known: in the namespace %s there are %v", m.Name, Namespace, metric.Names())
	}
	return source, nil
}

package scaling

import (
	"fmt"
	"slices"
	"strings"
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

// Source names a series of a service that policies can follow.
type Source string

// Sources. Each is the name of a metric in Namespace.
const (
	QueueDepth Source = "QueueDepth" // tasks of the cluster that wait for a place, but for those of services
)

// sources are what is said of each, per task.
var sources = map[Source]string{
	QueueDepth: "waiting tasks of the cluster per replica",
}

// Words is what a series is in a sentence.
func (s Source) Words() string { return sources[s] }

// Source is the series that the metric is of, or why there is none.
func (m *Metric) Source() (Source, error) {
	if m.Predefined != "" {
		return "", fmt.Errorf("PredefinedMetricType %s is not supported: Pinion has no such metric yet", m.Predefined)
	}
	source := Source(m.Name)
	switch {
	case m.Namespace != Namespace:
		return "", fmt.Errorf("the namespace %q is not supported: metrics are in the namespace %s, %s", m.Namespace, Namespace, Names())
	case sources[source] == "":
		return "", fmt.Errorf("the metric %q is not known: in the namespace %s there are %s", m.Name, Namespace, Names())
	}
	return source, nil
}

// Names lists the metrics of Namespace.
func Names() string {
	var names []string
	for source := range sources {
		names = append(names, string(source))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

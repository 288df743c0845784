package metrics

import (
	dto "github.com/prometheus/client_model/go"

	"pinion/api/auth"
)

// The labels that say whose a sample is. What has no cluster is of Pinion itself or of the pool, what has no team of no task.
const (
	clusterLabel = "cluster"
	teamLabel    = "team"
)

// visible is what a principal may see of families: to a key for clusters what is of these, to one for teams what is of their tasks. A sample that
// does not say whose it is is for keys without a scope alone. The families given stay as they are.
func visible(p auth.Principal, families []*dto.MetricFamily) []*dto.MetricFamily {
	if p.SeesAll() {
		return families
	}
	var seen []*dto.MetricFamily
	for _, family := range families {
		of := &dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type, Unit: family.Unit}
		for _, sample := range family.Metric {
			cluster, team := owner(sample)
			if cluster != "" && p.Sees(cluster, team) {
				of.Metric = append(of.Metric, sample)
			}
		}
		if len(of.Metric) > 0 {
			seen = append(seen, of)
		}
	}
	return seen
}

func owner(sample *dto.Metric) (cluster, team string) {
	for _, label := range sample.Label {
		switch label.GetName() {
		case clusterLabel:
			cluster = label.GetValue()
		case teamLabel:
			team = label.GetValue()
		}
	}
	return cluster, team
}

package metrics

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"pinion/api/auth"
	"pinion/raftfsm/spec"
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

// ofProxies begins the names of what a host tells of the services of any cluster: each host has the ports of all listeners.
const ofProxies = "pinion_proxy_"

// ofServers and ofPool begin the names of what only a server, and only the leader, can know.
var (
	ofServers = []string{"pinion_raft_"}
	ofPool    = []string{
		"pinion_pool_", "pinion_hosts", "pinion_host_up", "pinion_host_gpus", "pinion_gpus", "pinion_queue_", "pinion_placement_", "pinion_tasks", "pinion_stopped_tasks", "pinion_team_",
		"pinion_service_",
	}
)

// ownOf are the families that a host may tell of, as of its own cluster: one that is in the wrong hands adds nothing about the pool or about
// other clusters, but for the requests that it has carried to them. Keys for these clusters do not see them: they get no host of another.
func ownOf(host *spec.Host, families []*dto.MetricFamily) []*dto.MetricFamily {
	return slices.DeleteFunc(families, func(family *dto.MetricFamily) bool {
		begins := func(prefix string) bool { return strings.HasPrefix(family.GetName(), prefix) }
		for _, sample := range family.Metric {
			for _, label := range sample.Label {
				if label.GetName() == clusterLabel && !begins(ofProxies) {
					label.Value = &host.Cluster
				}
			}
		}
		return slices.ContainsFunc(ofPool, begins) || !host.Server && slices.ContainsFunc(ofServers, begins)
	})
}

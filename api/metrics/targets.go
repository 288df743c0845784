package metrics

import (
	"cmp"
	"net/http"
	"slices"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/rendezvous"
	"pinion/raftfsm/spec"
)

// Target is an element of the answer to Prometheus' HTTP service discovery: https://prometheus.io/docs/prometheus/latest/http_sd/
type Target struct {
	Targets []string          `json:"targets"` // host:port
	Labels  map[string]string `json:"labels"`  // of its series; those that begin with two underscores say how it is read, and go
}

// PoolInstance is the label instance of the metrics of the pool: they are the same whichever server leads it.
const PoolInstance = "pool"

// Targets tells Prometheus where the metrics of the pool and of all hosts of the caller's clusters are. Each host is read through a server, a
// server itself directly: agents then see no access key, need not be reached, and are read also while the pool has no leader. While one server is
// away the others have its part after the next refresh.
func (h *Handler) Targets(x *httpx.Exchange, res leader.Resolution) error {
	hosts := res.View.Hosts("")
	servers := slices.DeleteFunc(res.View.Servers(), func(s *spec.Host) bool { return s.ID != h.HostID && !h.Healthy(s.ID) })
	named := map[string]int{}
	for _, host := range hosts {
		named[host.Name]++
	}
	targets := []Target{}
	for _, host := range hosts {
		if !res.Principal.Clusters.Covers(host.Cluster) {
			continue
		}
		instance := host.Name
		if named[instance] > 1 {
			instance += "/" + host.ID
		}
		targets = append(targets, Target{Targets: []string{throughServer(host, servers)}, Labels: map[string]string{
			"__metrics_path__": "/v1/hosts/" + host.ID + "/metrics", "instance": instance, "__meta_pinion_host_id": host.ID, "__meta_pinion_cluster": host.Cluster,
		}})
	}
	if len(servers) > 0 {
		targets = append(targets, Target{Targets: []string{servers[0].Address}, Labels: map[string]string{"__metrics_path__": "/metrics/pool", "instance": PoolInstance}})
	}
	x.Reply(http.StatusOK, targets)
	return nil
}

// throughServer is the address at which a host is read: its own if it is a server or there is none, else that of a server, always the same one while
// the servers are the same.
func throughServer(host *spec.Host, servers []*spec.Host) string {
	if host.Server || len(servers) == 0 {
		return host.Address
	}
	return slices.MaxFunc(servers, func(a, b *spec.Host) int {
		return cmp.Compare(rendezvous.Hash(host.ID+" "+a.ID), rendezvous.Hash(host.ID+" "+b.ID))
	}).Address
}

package consensus

import (
	"sync/atomic"
	"time"

	"pinion/raftfsm/metric"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

// measures are the counts of a node for its metrics.
type measures struct {
	commits       prometheus.Histogram // of entries of this leader: from the proposal until it is in the state
	leaderChanges atomic.Int64
	lastLeader    atomic.Pointer[raft.ServerID]
}

func newMeasures() *measures {
	return &measures{commits: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pinion_raft_commit_seconds", Help: "Time from the proposal of a change to this leader until it is committed and applied.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})}
}

// observeLeader counts a leader that is another one than before.
func (m *measures) observeLeader(id raft.ServerID) {
	if last := m.lastLeader.Load(); id == "" || last != nil && *last == id {
		return
	}
	m.lastLeader.Store(&id)
	m.leaderChanges.Add(1)
}

// raftMetric is a gauge or a counter of a node.
type raftMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*Node) float64
}

// raftMetrics are read when they are asked for.
var raftMetrics = []raftMetric{
	newRaftMetric("term", prometheus.GaugeValue, "Term of Raft.", func(n *Node) float64 { return float64(n.raft.CurrentTerm()) }),
	newRaftMetric("commit_index", prometheus.GaugeValue, "Index of the last entry that is committed, as far as this server knows.", func(n *Node) float64 { return float64(n.raft.CommitIndex()) }),
	newRaftMetric("applied_index", prometheus.GaugeValue, "Index of the last entry that is in the state of this server.", func(n *Node) float64 { return float64(n.raft.AppliedIndex()) }),
	newRaftMetric("last_index", prometheus.GaugeValue, "Index of the last entry in the log of this server.", func(n *Node) float64 { return float64(n.raft.LastIndex()) }),
	newRaftMetric("voters", prometheus.GaugeValue, "Servers that vote.", voters),
	newRaftMetric("is_leader", prometheus.GaugeValue, "1 when this server leads the pool and answers for it, else 0.", func(n *Node) float64 { return metric.Bool(n.Leads()) }),
	newRaftMetric("has_leader", prometheus.GaugeValue, "1 when this server knows of a leader, else 0.", func(n *Node) float64 {
		address, _ := n.raft.LeaderWithID()
		return metric.Bool(address != "")
	}),
	newRaftMetric("leader_changes_total", prometheus.CounterValue, "Changes of the leader that this server has seen, its first one too.", func(n *Node) float64 { return float64(n.measures.leaderChanges.Load()) }),
	newRaftMetric("last_contact_seconds", prometheus.GaugeValue, "Seconds since this server has heard of the leader; 0 on the leader.", lastContact),
}

func newRaftMetric(name string, kind prometheus.ValueType, help string, of func(*Node) float64) raftMetric {
	return raftMetric{prometheus.NewDesc("pinion_raft_"+name, help, nil, nil), kind, of}
}

// Collector has the metrics of the node of this host; none while the host is an agent.
type Collector struct {
	Node func() *Node // nil on an agent
}

// Describe describes nothing: a host may be an agent, and become a server.
func (Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the node. It asks nothing of Raft that could wait.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	n := c.Node()
	if n == nil {
		return
	}
	for _, m := range raftMetrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(n))
	}
	n.measures.commits.Collect(ch)
	n.store.Writes.Collect(ch)
}

func voters(n *Node) (voters float64) {
	for _, server := range servers(n.raft) {
		if server.Suffrage == raft.Voter {
			voters++
		}
	}
	return voters
}

// lastContact is also 0 before the first contact; see has_leader.
func lastContact(n *Node) float64 {
	last := n.raft.LastContact()
	if n.raft.State() == raft.Leader || last.IsZero() {
		return 0
	}
	return max(0, time.Since(last).Seconds())
}

package consensus

import (
	"crypto/rand"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// logBytes is how many bytes of entries are in the log of a node.
func logBytes(t *testing.T, n *Node) (bytes int64) {
	t.Helper()
	first, err := n.store.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := n.store.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for index := first; index <= last; index++ {
		var l raft.Log
		if err := n.store.GetLog(index, &l); err != nil {
			return 1 << 40 // it was compacted meanwhile
		}
		bytes += int64(len(l.Data))
	}
	return bytes
}

// Raft counts entries. Who has large ones recorded fills no disk with them, on any server, and nothing is lost.
func TestTheLogIsBoundedInBytes(t *testing.T) {
	const most = 1 << 20
	nodes := startGroupWith(t, 3, func(c *Config) { c.MaxLog = most })
	host := spec.Host{ID: "h1", Name: "h1", Cluster: spec.DefaultCluster}
	for range 4 * most >> 14 {
		host.Attributes = map[string]string{"a": rand.Text()}
		for len(host.Attributes["a"]) < 1<<14 {
			host.Attributes["a"] += rand.Text()
		}
		// On a busy machine another server may lead by now.
		eventually(t, "a leader records the host", func() bool {
			return slices.ContainsFunc(nodes, func(n *Node) bool {
				_, err := n.Propose(t.Context(), raftfsm.PutHost{Host: host})
				return err == nil
			})
		})
	}
	for _, n := range nodes {
		eventually(t, "the log is within its bound", func() bool { return logBytes(t, n) <= most })
		eventually(t, "the server has what was recorded", func() bool {
			known := n.State().View().Host("h1")
			return known != nil && known.Attributes["a"] == host.Attributes["a"]
		})
		eventually(t, "small entries are kept as before", func() bool { return n.raft.ReloadableConfig().TrailingLogs == trailingLogs })
	}
}

// A log of small entries is left to Raft, which keeps more of them for followers that lag.
func TestSmallEntriesStayInTheLog(t *testing.T) {
	n := start(t, config(t.TempDir()))
	for range 100 {
		if _, err := n.Propose(t.Context(), raftfsm.Reap{}); err != nil {
			t.Fatal(err)
		}
	}
	bound := &logBound{raft: n.raft, store: n.store, snapshots: raft.NewDiscardSnapshotStore(), most: n.cfg.MaxLog, log: n.log, now: n.Now}
	if err := bound.enforce(); err != nil {
		t.Fatal(err)
	}
	if first, err := n.store.FirstIndex(); err != nil || first != 1 {
		t.Errorf("the log begins at %d, %v", first, err)
	}
}

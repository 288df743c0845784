package many

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
	"pinion/raftfsm/ended"
	endedstore "pinion/server/history"
)

var endedKills = flag.Int("ended-kills", 3, "how often servers are killed while tasks end: one, the leader, all at once")

const (
	// endedFlush is how old a task that was acknowledged as ended may be at most when it is not on the disk of a server that is killed.
	endedFlush = 5 * time.Second
	// maxEndedRest is the longest time between two kills.
	maxEndedRest = 4 * time.Second
)

// TestKillsLoseNoEndedTask kills whole servers at random times while tasks end. Every task that a client was told has ended is in the
// history afterwards, as it was told, on every server, and none is there that nobody was told of or counts twice.
func TestKillsLoseNoEndedTask(t *testing.T) {
	none := []string{"--gpus", "none"}
	p := up(t, slices.Clone(none), slices.Clone(none), slices.Clone(none))
	m := p.startEnding(t)
	var late []time.Duration
	for n := range *endedKills {
		healthy := time.Now()
		testbed.Rest(t.Context(), rand.N(maxEndedRest))
		victims := m.victims(n)
		late = append(late, m.killAll(victims, healthy)...)
		p.start(t, victims...)
		p.waitConverged(t)
		m.waitKept()
	}
	m.stop()
	m.waitKept()
	for _, h := range p.Hosts() {
		must(t, h.Terminate(t.Context()))
	}
	for _, h := range p.Hosts() {
		m.checkFile(h)
	}
	recordCount(fmt.Sprintf("ended tasks after %d kills of servers, each in the history of each server once", *endedKills), len(m.acked))
	recordTimes(t, "an ended task is acknowledged -> it is on the disk of a server that is killed", late, 0, endedFlush)
}

// victims are the servers to kill in a round.
func (m *endedModel) victims(round int) []*testbed.Host {
	hosts := m.pool.Hosts()
	switch round % 3 {
	case 0:
		return hosts
	case 1:
		return []*testbed.Host{m.pool.leader(m.t)}
	}
	return []*testbed.Host{hosts[rand.IntN(len(hosts))]}
}

// killAll kills servers at once, and answers for each how old the oldest acknowledged task is that its file does not have. What was
// acknowledged while the servers were not all healthy counts from then on.
func (m *endedModel) killAll(victims []*testbed.Host, healthy time.Time) (late []time.Duration) {
	m.t.Helper()
	acked, at := m.snapshot(), time.Now()
	var kills sync.WaitGroup
	for _, h := range victims {
		kills.Go(func() {
			if err := h.Kill(m.t.Context()); err != nil {
				m.t.Error(err)
			}
		})
	}
	kills.Wait()
	for _, h := range victims {
		kept, _ := m.readFile(h)
		oldest := time.Duration(0)
		for id, e := range acked {
			if since := max(0, at.Sub(e.ackedAt)); kept[id] == nil {
				oldest = max(oldest, min(since, at.Sub(healthy)))
			}
		}
		late = append(late, oldest)
	}
	return late
}

// readFile reads a copy of the history of a host that is down.
func (m *endedModel) readFile(h *testbed.Host) (kept map[string]*ended.Task, page ended.Page) {
	m.t.Helper()
	file, err := os.ReadFile(filepath.Join(h.Dir, "history.db"))
	must(m.t, err)
	path := filepath.Join(m.t.TempDir(), "history.db")
	must(m.t, os.WriteFile(path, file, 0o600))
	store, err := endedstore.OpenStore(path)
	must(m.t, err)
	defer store.Close()
	kept = map[string]*ended.Task{}
	for q := (ended.Query{Limit: ended.MaxPage}); ; q.Page = page.Next {
		page, err = store.Find(q)
		must(m.t, err)
		for i := range page.Tasks {
			kept[page.Tasks[i].Task.ID] = &page.Tasks[i]
		}
		if page.Next == "" {
			break
		}
	}
	usage, err := store.Usage(ended.UsageQuery{})
	must(m.t, err)
	if total := sumTasks(usage); total != int64(len(kept)) {
		m.t.Errorf("%s: the usage counts %d tasks, %d are kept", h.Name, total, len(kept))
	}
	return kept, page
}

func sumTasks(usage ended.Usage) (total int64) {
	for _, row := range usage.Rows {
		total += row.Tasks
	}
	return total
}

// waitKept waits until the leader's history has all that was acknowledged so far.
func (m *endedModel) waitKept() {
	m.t.Helper()
	acked := m.snapshot()
	eventually(m.t, fmt.Sprintf("the history has %d tasks", len(acked)), func() bool {
		var usage ended.Usage
		err := m.pool.get(m.pool.Hosts()[0], "usage", &usage)
		return err == nil && sumTasks(usage) >= int64(len(acked))
	})
}

// checkFile compares the history of a host that is down with the model.
func (m *endedModel) checkFile(h *testbed.Host) {
	m.t.Helper()
	kept, page := m.readFile(h)
	for id, e := range m.acked {
		if is := kept[id]; is == nil || is.Outcome != e.Outcome || string(is.Task.StopCode) != e.StopCode {
			m.t.Errorf("%s: task %s ended as %+v, and the history has %+v", h.Name, id, e, is)
		}
	}
	if len(kept) != len(m.acked) || len(page.Gaps) != 0 {
		m.t.Errorf("%s: %d tasks and the gaps %v in the history, %d tasks have ended", h.Name, len(kept), page.Gaps, len(m.acked))
	}
}

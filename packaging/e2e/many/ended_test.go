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
	// diskPause is the time between two looks at the file of a server that runs.
	diskPause = 200 * time.Millisecond
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
	lags := m.waitOnDisks()
	for _, h := range p.Hosts() {
		must(t, h.Terminate(t.Context()))
	}
	for _, h := range p.Hosts() {
		m.checkFile(h)
	}
	recordCount(fmt.Sprintf("ended tasks after %d kills of servers, each in the history of each server once", *endedKills), len(m.acked))
	recordTimes(t, "an ended task is acknowledged -> it is on the disk of a server that is killed", late, 0, endedFlush)
	recordTimes(t, "the last task is acknowledged -> it is on the disk of each server", lags, 0, 0)
}

// victims are the servers to kill in a round.
func (m *endedModel) victims(pass int) []*testbed.Host {
	hosts := m.pool.Hosts()
	switch pass % 3 {
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
	store, err := m.openCopy(h)
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

// openCopy opens a copy of a host's history. While the host runs, the copy may be torn, which opening it tells.
func (m *endedModel) openCopy(h *testbed.Host) (*endedstore.Store, error) {
	file, err := os.ReadFile(filepath.Join(h.Dir, "history.db"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // the store has it open
	path := filepath.Join(dir, "history.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return nil, err
	}
	return endedstore.OpenStore(path)
}

// waitOnDisks waits until the file of each server that runs has all that was acknowledged so far, and answers how long that took for each.
// It gives up after a while: checkFile says then what is missing.
func (m *endedModel) waitOnDisks() (lags []time.Duration) {
	m.t.Helper()
	want, began := int64(len(m.snapshot())), time.Now()
	for _, h := range m.pool.Hosts() {
		has := m.countOnDisk(h)
		for ; has < want && time.Since(began) < waitTimeout; has = m.countOnDisk(h) {
			testbed.Rest(m.t.Context(), diskPause)
		}
		if lags = append(lags, time.Since(began)); has < want {
			m.t.Errorf("%s: %d of %d ended tasks are on its disk after %v", h.Name, has, want, waitTimeout)
		}
	}
	return lags
}

// countOnDisk is how many tasks the file of a host that runs has; 0 while that cannot be read.
func (m *endedModel) countOnDisk(h *testbed.Host) int64 {
	store, err := m.openCopy(h)
	if err != nil {
		return 0
	}
	defer store.Close()
	usage, err := store.Usage(ended.UsageQuery{})
	if err != nil {
		return 0
	}
	return sumTasks(usage)
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
	var missing []time.Duration // how long before the end each was acknowledged
	for id, e := range m.acked {
		switch is := kept[id]; {
		case is == nil:
			missing = append(missing, time.Since(e.ackedAt).Round(time.Second))
		case is.Outcome != e.Outcome || string(is.Task.StopCode) != e.StopCode:
			m.t.Errorf("%s: task %s ended as %+v, and the history has %+v", h.Name, id, e, is)
		}
	}
	if len(missing) > 0 {
		m.t.Errorf("%s: %d tasks are missing, which ended %v to %v ago", h.Name, len(missing), slices.Min(missing), slices.Max(missing))
	}
	if len(kept) != len(m.acked) || len(page.Gaps) != 0 {
		m.t.Errorf("%s: %d tasks and the gaps %v in the history, %d tasks have ended", h.Name, len(kept), page.Gaps, len(m.acked))
	}
}

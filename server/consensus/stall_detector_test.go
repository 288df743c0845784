package consensus

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestALeaderThatDidNotRunIsNotSureForAWhile(t *testing.T) {
	var p stallDetector
	now := time.Now()
	p.reset(now)
	steps := []struct {
		name  string
		after time.Duration
		sure  bool
	}{
		{"it has just begun", 0, true},
		{"it runs", maxStall / 4, true},
		{"it was late", maxStall, true},
		{"it was stopped", maxStall + 1, false},
		{"it runs again", quarantine / 4, false},
		{"and it still does", quarantine / 4, false},
		{"but not for long", quarantine / 4, false},
		{"now it does", quarantine / 4, true},
		{"another stop", time.Hour, false},
	}
	for _, step := range steps {
		now = now.Add(step.after)
		if got := p.observe(now); got != step.sure {
			t.Errorf("%s: sure is %v", step.name, got)
		}
	}
	p.reset(now)
	if !p.observe(now) {
		t.Error("a new term begins in doubt")
	}
}

// stoppedProcess is the clock and the transport of nodes; their process is stopped during each request when it is told so.
type stoppedProcess struct {
	stops atomic.Bool
	lost  atomic.Int64 // time
}

func (p *stoppedProcess) now() time.Time { return time.Now().Add(time.Duration(p.lost.Load())) }

type stoppedTransport struct {
	transport
	process *stoppedProcess
}

func (t stoppedTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if t.process.stops.Load() {
		t.process.lost.Add(int64(maxStall + 1))
	}
	return t.transport.AppendEntries(id, target, args, resp)
}

func TestAReadDuringWhichTheProcessWasStoppedIsNotAnswered(t *testing.T) {
	process := new(stoppedProcess)
	leader := startGroupWith(t, 3, func(cfg *Config) {
		cfg.Now, cfg.Transport = process.now, stoppedTransport{cfg.Transport.(transport), process}
	})[0]
	if err := leader.CheckLeader(t.Context()); err != nil {
		t.Fatal(err)
	}
	process.stops.Store(true)
	if err := leader.CheckLeader(t.Context()); err == nil {
		t.Error("answers that may be from before were taken for new")
	}
}

package api

import (
	"context"
	"testing"

	"pinion/raftfsm"
)

// inquiries is a Queue of a test: it tells what it was asked for.
type inquiries struct{ asked []string }

func (l *inquiries) Queue(_ context.Context, cluster string) ([]raftfsm.Queued, error) {
	l.asked = append(l.asked, "queue of "+cluster)
	return nil, nil
}

func (l *inquiries) Explain(_ context.Context, task string) (raftfsm.Explanation, error) {
	l.asked = append(l.asked, "task "+task)
	return raftfsm.Explanation{TaskID: task, Status: raftfsm.Provisioning, Summary: "It waits."}, nil
}

func TestTheQueueIsAskedOfWhoKnowsIt(t *testing.T) {
	b := newBench(t)
	if got := b.get("/v1/queue"); got.Code != 400 {
		t.Errorf("without a queue: %d %s", got.Code, got.Body)
	}
	l := &inquiries{}
	b.config.Queue = l
	if got := b.get("/v1/queue?cluster=lab"); got.Code != 200 || got.Body.String() != "[]" || l.asked[0] != "queue of lab" {
		t.Errorf("%d %q, asked for %q", got.Code, got.Body, l.asked)
	}
	if got := b.get("/v1/tasks/none/explain"); got.Code != 404 || len(l.asked) != 1 {
		t.Errorf("a task that is not there: %d %s", got.Code, got.Body)
	}
}

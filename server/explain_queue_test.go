package server

import (
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// waitingFor lists the queue and returns what is said of one task in it.
func waitingFor(t *testing.T, s *Server, id string) spec.QueueItem {
	t.Helper()
	list, err := s.scheduler.Queue(t.Context(), spec.DefaultCluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		if q.TaskID == id {
			return q
		}
	}
	t.Fatalf("%s is not in the queue: %+v", id, list)
	return spec.QueueItem{}
}

func TestTheQueueSaysWhatNoHostCouldEverRunUntilOneCan(t *testing.T) {
	s := start(t, config(t.TempDir()))
	one, three := define(t, s, 1), define(t, s, 3)
	first := run(t.Context(), t, s, queuedRun(one)).Tasks[0]
	if q := waitingFor(t, s, first.ID); q.Infeasible == nil || q.Infeasible.Reason != spec.ReasonMissing || q.WaitReason != "a host: the cluster has none" {
		t.Errorf("in a cluster without hosts: %+v, %+v", q, q.Infeasible)
	}
	joinWith(t, s, 2)
	reportRunning(t, s, first.ID)
	second := run(t.Context(), t, s, queuedRun(one)).Tasks[0]
	reportRunning(t, s, second.ID)

	small := run(t.Context(), t, s, queuedRun(one)).Tasks[0]
	large := run(t.Context(), t, s, queuedRun(three)).Tasks[0]
	held := run(t.Context(), t, s, queuedRun(three, tag(spec.TagAfter, first.ID))).Tasks[0]
	gang := queuedRun(one, tag(spec.TagGang, "true"))
	gang.Count = 4
	member := run(t.Context(), t, s, gang).Tasks[0]

	if q := waitingFor(t, s, small.ID); q.Infeasible != nil || q.WaitReason != "free capacity on a host" {
		t.Errorf("what only has to wait for others: %+v", q)
	}
	lack := spec.Failure{HostID: hostID, Reason: spec.ReasonGPU, Detail: "needs 3 GPUs, the host has 2"}
	if q := waitingFor(t, s, large.ID); q.Infeasible == nil || *q.Infeasible != lack || q.WaitReason != "another host: no host could ever run it (the nearest is one: needs 3 GPUs, the host has 2)" {
		t.Errorf("what is too large: %+v, %+v", q, q.Infeasible)
	}
	if q := waitingFor(t, s, held.ID); q.Infeasible == nil || *q.Infeasible != lack || !strings.Contains(q.WaitReason, first.ID) {
		t.Errorf("what something else holds back: %+v, %+v", q, q.Infeasible)
	}
	if e, err := s.scheduler.Explain(t.Context(), held.ID); err != nil || !strings.Contains(e.Summary, "Then it waits for another host") {
		t.Errorf("%v, %+v", err, e)
	}
	if q := waitingFor(t, s, member.ID); q.Infeasible == nil || q.Infeasible.HostID != "" || !strings.Contains(q.WaitReason, "room for 2 of them at most") {
		t.Errorf("a gang that is too large: %+v, %+v", q, q.Infeasible)
	}

	joinWith(t, s, 9)
	become(t, s, small.ID, hasPlace)
	become(t, s, large.ID, hasPlace)
	if q := waitingFor(t, s, held.ID); q.Infeasible != nil {
		t.Errorf("a host could run it now: %+v", q.Infeasible)
	}
}

func TestEachAttemptAtATasksWorkLeadsToTheOthers(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	first := runQueued(t, s, queuedRun(define(t, s, 1), tags("retries=1")...))[0]
	if e, err := s.scheduler.Explain(t.Context(), first.ID); err != nil || e.RetryOf != "" || e.RetryAs != "" {
		t.Errorf("%v: an only attempt is %+v", err, e)
	}
	reportExit(t, s, first.ID, 3)
	again := attemptOf(t, s, first.ID, 1)
	if e, err := s.scheduler.Explain(t.Context(), first.ID); err != nil || e.RetryAs != again.ID || !strings.HasSuffix(e.Summary, "Task "+again.ID+" does its work again, as retry 1.") {
		t.Errorf("%v: the first attempt is %+v", err, e)
	}
	if e, err := s.scheduler.Explain(t.Context(), again.ID); err != nil || e.RetryOf != first.ID || !strings.HasSuffix(e.Summary, "It is retry 1 of task "+first.ID+".") {
		t.Errorf("%v: the second attempt is %+v", err, e)
	}
}

package raftfsm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

func TestAHostWithTasksIsRemovedOnlyByForce(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	if _, err := h.try(t, RemoveHost{ID: "h1", At: at(2)}); !errors.Is(err, spec.ErrInUse) || !strings.Contains(err.Error(), "tasks (1)") {
		t.Errorf("without force: %v", err)
	}
	removed := h.do(t, RemoveHost{ID: "h1", Force: true, At: at(3)}).(*spec.RemovedHost)
	if *removed != (spec.RemovedHost{ID: "h1", Name: "h1", At: at(3)}) {
		t.Errorf("%+v", removed)
	}
	v := h.View()
	if v.Host("h1") != nil || !v.Removed("h1") || len(v.RemovedHosts()) != 1 || len(v.Free("h1").GPUs) != 0 {
		t.Error("it is still there")
	}
	stopped := v.Task("t1")
	if stopped.LastStatus != spec.Stopped || stopped.StoppedReason != "host h1 was removed" || !stopped.Times.Stopped.Equal(at(3)) {
		t.Errorf("%+v", stopped)
	}
	if unknown := h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Running}); !slices.Equal(unknown, []string{"t1"}) {
		t.Errorf("if it still runs the task it is told %v", unknown)
	}
}

func TestAnEmptyHostIsRemovedWithoutForce(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1"))
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	h.do(t, RemoveHost{ID: "h1", At: at(3)})
	if got := h.View().Task("t1"); got.StoppedReason == "host h1 was removed" {
		t.Error("a task that was over was rewritten")
	}
	before := h.snapshot(t)
	if again := h.do(t, RemoveHost{ID: "h1", At: at(9)}).(*spec.RemovedHost); !again.At.Equal(at(3)) || !bytes.Equal(before, h.snapshot(t)) {
		t.Error("removing it again changed something")
	}
}

func TestARemovedHostNeverComesBack(t *testing.T) {
	h := newHistory(t)
	h.do(t, RemoveHost{ID: "h1"})
	if _, err := h.try(t, PutHost{hostWith("h1", 4)}); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("it joins again: %v", err)
	}
	for _, c := range []Command{SetServerRole{ID: "h1", Server: true}, SetHostStatus{ID: "h1", Status: spec.HostActive}, MarkHostLost{ID: "h1"}} {
		if _, err := h.try(t, c); !errors.Is(err, spec.ErrNotFound) {
			t.Errorf("%T: %v", c, err)
		}
	}
	if _, err := h.try(t, RemoveHost{ID: "none"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host that never was: %v", err)
	}
}

func TestAHostThatWasAdmittedAndNeverCameCanBeRemoved(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(jointoken.Create{Token: joinToken("a", 1)}))
	h.do(t, admit("h2", "key", "a", 1))
	h.do(t, RemoveHost{ID: "h2", At: at(2)})
	if v := h.View(); v.Admission("h2") != nil || !v.Removed("h2") {
		t.Error("it may still come")
	}
}

package node_test

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestFollowingATaskThatWasJustAssigned(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.runtime.HoldPull("main:1")
		task := w.control.run("t1", container("main")) // the agent has not seen it yet
		done := make(chan error, 1)
		go func() {
			done <- w.node.Logs(w.Context(), spec.LogQuery{Task: task, Follow: true}, func(spec.LogLine) error { return nil })
		}()
		w.advance(time.Minute)
		select {
		case err := <-done:
			w.Fatalf("the log ended with %v while the task was still to come", err)
		default:
		}
		w.control.stop(task, "")
		w.advance(2 * time.Second)
		if err := <-done; err != nil {
			w.Errorf("the log ended with %v", err)
		}
	})
}

// A host that has just started does not know its tasks before it is connected to the pool: who follows the log of one must not take it for ended.
func TestFollowingATaskOfAHostThatIsNotConnectedYet(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.control.setDown(true)
		w.runtime.HoldPull("main:1")
		task := w.control.run("t1", container("main"))
		follow := func() chan error {
			done := make(chan error, 1)
			go func() {
				done <- w.node.Logs(w.Context(), spec.LogQuery{Task: task, Follow: true}, func(spec.LogLine) error { return nil })
			}()
			return done
		}
		early := follow()
		w.advance(15 * time.Second)
		select {
		case err := <-early:
			w.Fatalf("the log ended with %v while nobody knows of the task", err)
		default:
		}
		w.advance(30 * time.Second)
		if err := <-early; err == nil {
			w.Error("a host without a pool says that the log has ended")
		}
		late := follow()
		w.control.setDown(false)
		w.advance(10 * time.Second)
		w.control.stop(task, "")
		w.advance(2 * time.Second)
		if err := <-late; err != nil {
			w.Errorf("the log ended with %v", err)
		}
	})
}

package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// recordingHook is a feature outside of the runner that notes what it is asked to do.
type recordingHook struct {
	mu    sync.Mutex
	calls []string
	fails int // how often Poststop fails
	err   error
}

func (h *recordingHook) add(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

func (h *recordingHook) Name() string { return "recording" }

func (h *recordingHook) Prestart(_ context.Context, starts []*task.Start) error {
	for _, s := range starts {
		h.add("prestart " + s.Container.Def.Name)
	}
	return h.err
}

func (h *recordingHook) BuildSpec(s *task.Start) error {
	s.SetEnv("SECRET", "of "+s.Container.Task().ID)
	return nil
}

func (h *recordingHook) Poststart(ctx context.Context, c *task.Container, _ time.Time) {
	h.add("poststart " + c.Def.Name)
	<-ctx.Done()
	h.add("ended " + c.Def.Name)
}

func (h *recordingHook) Reattach(_ context.Context, c *task.Container) {
	h.add("reattach " + c.Def.Name)
}

func (h *recordingHook) Poststop(context.Context) error {
	h.add("poststop")
	if h.fails > 0 {
		h.fails--
		return errors.New("not yet")
	}
	return nil
}

func (h *recordingHook) of(spec.Assignment) []task.Hook { return []task.Hook{h} }

func TestHooksAccompanyATask(t *testing.T) {
	simulate(t, func(w *simHost) {
		hook := &recordingHook{fails: 2}
		w.hooks = hook.of
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		if env := w.runtime.Spec(id(task, "main")).Env; !slices.Contains(env, "SECRET=of t1") {
			t.Errorf("the environment is %v", env)
		}
		w.crash()
		w.boot()
		w.control.stop(task, "enough")
		w.advance(time.Minute)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		want := []string{
			"prestart main", "poststart main", "ended main", // the agent left
			"reattach main", "poststart main", "ended main", "poststop", "poststop", "poststop",
		}
		if !slices.Equal(hook.calls, want) {
			t.Errorf("the hook was called %q, want %q", hook.calls, want)
		}
		w.wantNothingLeft()
	})
}

func TestAHookThatFailsEndsTheTaskWithItsReason(t *testing.T) {
	simulate(t, func(w *simHost) {
		hook := &recordingHook{err: &task.StartError{Kind: "ResourceInitializationError", Err: errors.New("no such secret")}}
		w.hooks = hook.of
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.want("reason", w.control.lastReport(task).StoppedReason, "ResourceInitializationError: no such secret")
		w.want("starts", w.machine.StartCount(id(task, "main")), 0)
		w.wantNothingLeft()
	})
}

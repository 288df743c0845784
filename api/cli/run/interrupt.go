package run

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// interruptSource delivers interrupts until release is called.
type interruptSource func() (signals <-chan os.Signal, release func())

// oneSignal is the time in which several SIGTERM are one: timeout(1) sends it to the process, and then to its group.
const oneSignal = time.Second

// interruptHandler turns Ctrl-C into requests to stop the tasks that are followed.
type interruptHandler struct {
	inv     *invocation.Invocation
	cluster string
	cancel  context.CancelCauseFunc
	tasks   atomic.Pointer[[]client.Task] // nil until they were started
}

func (s *interruptHandler) setTasks(tasks []client.Task) { s.tasks.Store(&tasks) }

// handleSignals handles interrupts until ctx ends. One before the tasks have started cancels; otherwise the first stops the
// tasks, and the next cancels while they are stopping.
func (s *interruptHandler) handleSignals(ctx context.Context, signals <-chan os.Signal) {
	stopping := false
	var received os.Signal
	var terminated time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case received = <-signals:
		}
		if received == syscall.SIGTERM {
			again := s.inv.Now().Sub(terminated) < oneSignal
			if terminated = s.inv.Now(); again {
				continue
			}
		}
		tasks := s.tasks.Load()
		switch {
		case received == syscall.SIGHUP && tasks != nil:
			s.cancel(exit.Errorf(exit.HungUp, "detached: the terminal is gone, and %s runs on; `pinion logs -f %s` follows it", tasksText(*tasks), format.ID((*tasks)[0].ID())))
		case tasks == nil:
			s.cancel(exit.Errorf(exit.Interrupted, "interrupted before the host answered. `pinion ps` shows whether the task was started"))
		case stopping && len(*tasks) > 1:
			s.cancel(exit.Errorf(exit.Interrupted, "detached: the tasks are still stopping. `pinion ps` shows when they have stopped"))
		case stopping:
			s.cancel(exit.Errorf(exit.Interrupted, "detached: %s is still stopping. `pinion ps` shows when it has stopped", tasksText(*tasks)))
		default:
			stopping = true
			s.inv.Notef("stopping %s ... (Ctrl-C again detaches)", tasksText(*tasks))
			go s.stopTasks(ctx, *tasks, reasonInterrupted)
		}
	}
}

// Reasons with which tasks are stopped here.
const (
	reasonInterrupted   = "interrupted at the terminal of pinion run"
	reasonUnschedulable = "no host could ever run it"
)

func (s *interruptHandler) stopTasks(ctx context.Context, tasks []client.Task, reason string) {
	for _, task := range invocation.StopOrder(tasks) {
		s.stopTask(ctx, task.ID(), reason)
	}
}

func (s *interruptHandler) stopTask(ctx context.Context, id, reason string) {
	err := s.inv.RetryUnavailable(ctx, func() error {
		return s.inv.Client.StopTask(ctx, s.cluster, id, reason, false)
	})
	if err != nil && ctx.Err() == nil {
		s.inv.Notef("task %s could not be stopped: %v. Try `pinion stop %s`", format.ID(id), err, format.ID(id))
	}
}

// tasksText names one task by its id, and several by their number.
func tasksText(tasks []client.Task) string {
	if len(tasks) == 1 {
		return "task " + format.ID(tasks[0].ID())
	}
	return format.Plural(len(tasks), "task")
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// watch stays with the tasks that `pinion run` started, and heeds Ctrl-C meanwhile.
type watch struct {
	*runner
	tasks         atomic.Pointer[[]client.Task] // nil until they are known
	cancel        context.CancelCauseFunc
	unschedulable bool // it was told that no host could ever run them
}

func (w *watch) setTasks(tasks []client.Task) { w.tasks.Store(&tasks) }

// handleSignals answers interrupts until ctx ends: before there is a task it gives up, the first one then stops the task, the
// next one leaves it to stop alone.
func (w *watch) handleSignals(ctx context.Context, signals <-chan os.Signal) {
	stopping := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		tasks := w.tasks.Load()
		switch {
		case tasks == nil:
			w.cancel(&exitError{code: exitInterrupt, error: errors.New("left before the host answered. `pinion ps` shows whether the task was started")})
		case stopping && len(*tasks) > 1:
			w.cancel(&exitError{code: exitInterrupt, error: errors.New("left while the tasks are stopping. `pinion ps` shows when they are gone")})
		case stopping:
			w.cancel(&exitError{code: exitInterrupt, error: fmt.Errorf("left while %s is stopping. `pinion ps` shows when it is gone", tasksText(*tasks))})
		default:
			stopping = true
			w.notef("stopping %s ... (Ctrl-C again leaves at once)", tasksText(*tasks))
			go w.stopTasks(ctx, *tasks)
		}
	}
}

// tasksText is what tasks are called in a note.
func tasksText(tasks []client.Task) string {
	if len(tasks) == 1 {
		return "task " + abbreviateID(tasks[0].ID())
	}
	return plural(len(tasks), "task")
}

func (w *watch) stopTasks(ctx context.Context, tasks []client.Task) {
	for _, task := range waitingFirst(tasks) {
		w.stopTask(ctx, task.ID())
	}
}

func (w *watch) stopTask(ctx context.Context, id string) {
	err := w.retryUnavailable(ctx, func() error {
		return w.client.StopTask(ctx, w.cluster, id, "interrupted at the terminal of pinion run")
	})
	if err != nil && ctx.Err() == nil {
		w.notef("task %s could not be stopped: %v. Try `pinion stop %s`", abbreviateID(id), err, abbreviateID(id))
	}
}

// follow shows the pull and the log, and turns the end of the task into an exit code. A task that failed and is run again
// is followed there.
func (w *watch) follow(ctx context.Context, task client.Task) error {
	for {
		stopped, err := w.followOne(ctx, task)
		if err != nil {
			return err
		}
		next, found, err := w.awaitNextAttempt(ctx, stopped)
		if err != nil {
			return err
		}
		if !found {
			return w.printResult([]client.Task{stopped}, w.taskExitError(stopped))
		}
		w.notef("task %s: %s. It is run again as %s", abbreviateID(stopped.ID()), failureSummary(stopped), abbreviateID(next.ID()))
		w.setTasks([]client.Task{next})
		task = next
	}
}

// pendingPolls is how many looks at a task have to find it without a place before that is told: most have one at once.
const pendingPolls = 4

// awaitPlacement tells where the task is put, and before that that it waits, if it has to.
func (w *watch) awaitPlacement(ctx context.Context, task client.Task) (client.Task, error) {
	polls := 0
	task, err := w.pollTask(ctx, w.cluster, task.ID(),
		func(t client.Task) bool { return t.Instance != "" || t.Stopped() },
		func(t client.Task) {
			if polls++; polls == pendingPolls && !w.unschedulable && t.Instance == "" && !t.Stopped() {
				w.notef("task %s waits for a place; `pinion why %s` says what for", abbreviateID(t.ID()), abbreviateID(t.ID()))
			}
		})
	if err == nil && task.Instance != "" {
		w.notef("task %s %s", abbreviateID(task.ID()), w.placement(ctx, task))
	}
	return task, err
}

// followOne shows where a task is put, its pull and its log, to its end.
func (w *watch) followOne(ctx context.Context, task client.Task) (client.Task, error) {
	task, err := w.awaitPlacement(ctx, task)
	if err == nil {
		task, err = w.awaitStart(ctx, task.ID())
	}
	if err != nil {
		return task, err
	}
	if task.Instance != "" {
		printer := logPrinter{out: w.out, err: w.err}
		if w.output == outputJSON {
			printer.out = w.err // the document is all of the answer
		}
		if err := w.followLog(ctx, spec.LogQuery{Task: task.ID(), Follow: true}, printer.print); err != nil {
			return task, err
		}
	}
	return w.pollTask(ctx, w.cluster, task.ID(), func(t client.Task) bool { return t.Stopped() }, func(client.Task) {})
}

// placement tells where a task was put and with which GPUs.
func (w *watch) placement(ctx context.Context, task client.Task) string {
	text := "on " + abbreviateID(client.ResourceID(task.Instance))
	if names, err := w.hostNames(ctx); err == nil { // the id does as well
		text = "on " + names[client.ResourceID(task.Instance)]
	}
	if gpus := task.GPUs(); len(gpus) > 0 {
		text += " with " + strings.Join(gpus, ", ")
	}
	return text
}

// awaitStart shows the pulls until the task runs, or is over.
func (w *watch) awaitStart(ctx context.Context, id string) (client.Task, error) {
	painter := &pullProgress{w: w.err, columns: terminalWidth(w.err)}
	defer painter.draw(nil)
	return w.pollTask(ctx, w.cluster, id,
		func(t client.Task) bool { return t.Status == "RUNNING" || t.Stopped() },
		func(client.Task) {
			if pulls, err := w.client.PullProgress(ctx, id); err == nil { // progress is a courtesy: never a reason to fail
				painter.update(pulls, w.now())
			}
		})
}

// printResult prints how the tasks ended where JSON is wanted, and passes on what became of the run.
func (w *watch) printResult(tasks []client.Task, result error) error {
	if w.output == outputJSON {
		if err := w.printTasks(tasks); err != nil {
			return err
		}
	}
	return result
}

// taskExitError is nil when the container exited with 0, otherwise an error with the exit code of `pinion run`.
func (w *watch) taskExitError(task client.Task) error {
	code := onlyContainer(task).ExitCode
	switch {
	case code == nil && task.StopCode == "UserInitiated":
		return &exitError{code: exitInterrupt, error: fmt.Errorf("task %s was stopped before it started", abbreviateID(task.ID()))}
	case code == nil:
		return &exitError{code: exitNoStart, error: fmt.Errorf("task %s did not start: %s", abbreviateID(task.ID()), failureReason(task))}
	}
	if why := stopReason(task); why != "" {
		w.notef("task %s: %s", abbreviateID(task.ID()), why)
	}
	if *code == 0 && stoppedByScheduler(task) {
		return &exitError{code: exitFailure, error: errors.New("")} // it only did as it was told
	}
	if *code == 0 {
		return nil
	}
	return &exitError{code: *code, error: errors.New("")}
}

// stoppedByScheduler says whether the pool had the task stopped: at its time limit, for another, or with its gang.
func stoppedByScheduler(task client.Task) bool {
	return task.StopCode == "ServiceSchedulerInitiated" || task.StopCode == "SpotInterruption"
}

// failureReason joins why the task and its container stopped, without saying anything twice.
func failureReason(task client.Task) string {
	stopped, container := task.StoppedReason, onlyContainer(task).Reason
	switch {
	case stopped == "" && container == "":
		return "the host gave no reason; its log may tell more"
	case strings.Contains(stopped, container):
		return stopped
	case stopped == "":
		return container
	}
	return strings.TrimSuffix(stopped, ".") + ": " + container
}

// onlyContainer is the one container of a task of `pinion run`.
func onlyContainer(task client.Task) client.Container {
	if len(task.Containers) == 0 {
		return client.Container{}
	}
	return task.Containers[0]
}

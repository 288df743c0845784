package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
)

// follower follows the tasks of one `pinion run` to their end.
type follower struct {
	inv           *invocation.Invocation
	request       request
	interrupts    *interruptHandler
	unschedulable bool // the user knows already that no host could ever run them
}

// follow follows one task: its pull, its log and its exit code. When it is retried, the next attempt is followed.
func (f *follower) follow(ctx context.Context, task client.Task) error {
	for {
		stopped, err := f.followOne(ctx, task)
		if err != nil {
			return err
		}
		next, found, err := f.awaitNextAttempt(ctx, stopped)
		if err != nil {
			return err
		}
		if !found {
			return f.printResult([]client.Task{stopped}, f.taskExitError(stopped))
		}
		f.inv.Notef("task %s: %s. It is retried as %s", format.ID(stopped.ID()), failureSummary(stopped), format.ID(next.ID()))
		f.interrupts.setTasks([]client.Task{next})
		task = next
	}
}

// pendingReads is the number of reads after which a task counts as pending: most are placed at once.
const pendingReads = 4

// awaitPlacement waits until the task has a host, and prints it; before that, that the task is pending.
func (f *follower) awaitPlacement(ctx context.Context, watch *invocation.TaskWatch) (client.Task, error) {
	reads := 0
	task, err := watch.Until(ctx,
		func(t client.Task) bool { return t.Instance != "" || t.Stopped() },
		func(t client.Task) {
			if reads++; reads == pendingReads && !f.unschedulable {
				f.notePending(ctx, []client.Task{t})
			}
		})
	if err == nil && task.Instance != "" {
		f.inv.Notef("task %s %s", format.ID(task.ID()), f.placement(ctx, task))
	}
	return task, err
}

// notePending tells what the first of the tasks waits for that has no host yet.
func (f *follower) notePending(ctx context.Context, tasks []client.Task) {
	at := slices.IndexFunc(tasks, func(t client.Task) bool { return t.Instance == "" && !t.Stopped() })
	if at < 0 {
		return
	}
	id, waits := format.ID(tasks[at].ID()), ""
	if e, err := f.inv.Client.Explain(ctx, tasks[at].ID(), true); err == nil && e.Queue != nil && e.Queue.WaitReason != "" { // best effort: pinion why says it
		waits = " and waits for " + format.ShortIDs(f.inv.LocalTimes(format.Options(e.Queue.WaitReason)))
	}
	f.inv.Notef("task %s is pending%s; `pinion why %s` explains why", id, waits, id)
}

// followOne follows one attempt to its end: placement, pull, log.
func (f *follower) followOne(ctx context.Context, task client.Task) (client.Task, error) {
	watch := f.inv.WatchTask(f.request.cluster, task.ID())
	defer watch.Close()
	task, err := f.awaitPlacement(ctx, watch)
	if err == nil && !started(task) {
		task, err = f.awaitStart(ctx, watch)
	}
	if err != nil {
		return task, err
	}
	if task.Instance != "" && !neverRan(task) {
		printer := tasklog.Printer{Out: f.inv.Out, Err: f.inv.Err}
		if f.inv.Output == invocation.JSON {
			printer.Out = f.inv.Err // standard output is the JSON document
		}
		err := tasklog.Follow(ctx, f.inv, client.LogQuery{Task: task.ID(), Follow: true}, printer.Print)
		if err := errors.Join(err, printer.Flush()); err != nil {
			return task, err
		}
	}
	return watch.Until(ctx, func(t client.Task) bool { return t.Stopped() }, func(client.Task) {})
}

// neverRan reports whether no container of a stopped task has run: what its log has is the error with which the task ended.
func neverRan(task client.Task) bool {
	return task.Stopped() && task.StartedAt.IsZero() && !slices.ContainsFunc(task.Containers, func(c client.Container) bool { return c.ExitCode != nil })
}

// placement is the host and the GPUs of a task.
func (f *follower) placement(ctx context.Context, task client.Task) string {
	text := "on " + format.ID(client.ResourceID(task.Instance))
	hosts, err := f.inv.Client.Hosts(ctx)
	if err == nil { // otherwise the id is shown
		text = "on " + invocation.NamesOf(hosts)[client.ResourceID(task.Instance)]
	}
	if len(task.GPUs()) > 0 {
		text += " with " + invocation.GPUText(hosts, task)
	}
	return text
}

// started reports whether a task has begun, or ended without.
func started(t client.Task) bool { return t.Status == "RUNNING" || t.Stopped() }

// awaitStart shows the image pulls until the task is RUNNING or STOPPED.
func (f *follower) awaitStart(ctx context.Context, watch *invocation.TaskWatch) (client.Task, error) {
	painter := &pullProgress{w: f.inv.Err, columns: table.ScreenOf(f.inv.Err).Columns}
	defer painter.draw(nil)
	return watch.Until(ctx, started, func(t client.Task) {
		if started(t) {
			return
		}
		if pulls, err := f.inv.Client.PullProgress(ctx, t.ID()); err == nil { // best effort
			painter.update(pulls, f.inv.Now())
		}
	})
}

// printResult prints the ended tasks where JSON is wanted, and returns the result of the run.
func (f *follower) printResult(tasks []client.Task, result error) error {
	if f.inv.Output == invocation.JSON {
		if err := printTasks(f.inv, f.request, tasks); err != nil {
			return err
		}
	}
	return result
}

// taskExitError is nil when the container exited with 0, otherwise an error with the exit code of `pinion run`.
func (f *follower) taskExitError(task client.Task) error {
	code := onlyContainer(task).ExitCode
	switch {
	case code == nil && task.StopCode == "UserInitiated":
		return exit.Errorf(exit.Interrupted, "task %s was stopped before it started", format.ID(task.ID()))
	case code == nil:
		return exit.Errorf(exit.NotStarted, "task %s did not start: %s%s", format.ID(task.ID()), failureReason(task), f.otherMeaning(task))
	}
	if why := format.StopReason(task); why != "" {
		f.inv.Notef("task %s: %s", format.ID(task.ID()), why)
	}
	if *code == 0 && stoppedByScheduler(task) {
		return exit.Silent(exit.Failure) // it ended well only because it was told to end
	}
	if *code == 0 {
		return nil
	}
	return exit.Silent(*code)
}

// otherMeaning says, of a task whose image was not there, that its name was looked for among the task definitions too.
func (f *follower) otherMeaning(task client.Task) string {
	if f.request.unregistered == "" || !strings.HasPrefix(onlyContainer(task).Reason, "CannotPullContainerError") {
		return ""
	}
	return fmt.Sprintf(". There is no task definition %q either; `pinion definition ls` lists them", f.request.unregistered)
}

// stoppedByScheduler reports whether the pool stopped the task: at its time limit, by preemption, or with its gang.
func stoppedByScheduler(task client.Task) bool {
	return task.StopCode == "ServiceSchedulerInitiated" || task.StopCode == "SpotInterruption"
}

// failureReason joins the reasons of the task and of its container, without repetition.
func failureReason(task client.Task) string {
	stopped, container := task.StoppedReason, onlyContainer(task).Reason
	switch {
	case stopped == "" && container == "":
		return "the host gave no reason; see its log"
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

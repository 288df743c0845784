package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/cli/tasklog"
	"pinion/api/cli/tasklog/merge"
	"pinion/api/client"
)

// logView is what one `pinion logs` shows, and how.
type logView struct {
	inv        *invocation.Invocation
	targets    selection.Targets
	query      client.LogQuery // of each task
	timestamps bool
	columns    *tasklog.Columns
}

// show shows the logs of the tasks that there are now, and of those that join them.
func (v logView) show(ctx context.Context, tasks []client.Task) error {
	err := error(nil)
	if joins := v.query.Follow && v.targets.Grow(); len(tasks) == 1 && !joins {
		err = v.one(ctx, tasks[0])
	} else {
		err = v.merged(ctx, tasks, joins)
	}
	if errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is how following ends
	}
	return err
}

func (v logView) printer() *tasklog.Printer {
	return &tasklog.Printer{Out: v.inv.Out, Err: v.inv.Err, Timestamps: v.timestamps, JSON: v.inv.Output == invocation.JSON, Columns: v.columns}
}

// one shows the log of one task.
func (v logView) one(ctx context.Context, task client.Task) error {
	printer, empty := v.printer(), true
	printer.Names = v.hasNames(task)
	q := v.query
	q.Task = task.ID()
	err := tasklog.Follow(ctx, v.inv, q, func(line client.LogLine) error {
		empty = false
		return printer.Print(line)
	})
	err = errors.Join(err, printer.Flush())
	if err == nil && empty {
		v.sayNoOutput(task)
	}
	return err
}

// sayNoOutput says why a task has no log.
func (v logView) sayNoOutput(task client.Task) {
	if task.StartedAt.IsZero() && format.StopReason(task) != "" {
		v.inv.Notef("task %s has no output: %s", format.ID(task.ID()), format.StopReason(task))
	}
}

func (v logView) hasNames(task client.Task) bool {
	return len(task.Containers) > 1 && v.query.Container == ""
}

// taskLabels are what lines of several tasks begin with: "run-train:1[2]" where that is one task's alone, else an id.
func taskLabels(tasks []client.Task) []string {
	count := map[string]int{}
	for _, task := range tasks {
		count[format.TaskName(task)]++
	}
	labels := make([]string, len(tasks))
	for i, task := range tasks {
		labels[i] = format.ID(task.ID())
		if name := format.TaskName(task); format.Index(task) != "" && count[name] == 1 {
			labels[i] = name
		}
	}
	return labels
}

// merged shows the logs of several tasks as one. With joins, the tasks of the targets that start later are shown, too.
func (v logView) merged(ctx context.Context, tasks []client.Task, joins bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, printer := merge.New(ctx, v.inv, v.query), v.printer()
	printing := map[string]bool{}
	labels := taskLabels(tasks)
	j := targetFollower{logView: v, merger: m, known: map[string]bool{}}
	for i, task := range tasks {
		if err := j.add(merge.Source{Task: task, Label: labels[i]}); err != nil {
			return err
		}
	}
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		defer m.Close()
		if joins {
			if err := j.follow(ctx); err != nil {
				cancel(err)
			}
		}
	}()
	colors := map[string]string{}
	err := m.Run(ctx, func(s merge.Source, line client.LogLine) error {
		id := s.Task.ID()
		printer.Task, printer.TaskID, printer.Names = s.Label, id, v.hasNames(s.Task)
		if v.inv.Screen.Color {
			if colors[id] == "" {
				colors[id] = tasklog.Colors[len(colors)%len(tasklog.Colors)]
			}
			printer.Color = colors[id]
		}
		printing[id] = true
		return printer.Print(line)
	})
	cancel(context.Canceled)
	<-joined
	err = errors.Join(err, printer.Flush())
	for _, task := range tasks {
		if err == nil && !printing[task.ID()] {
			v.sayNoOutput(task)
		}
	}
	return err
}

// targetFollower adds the tasks of the targets to what is shown, as they start.
type targetFollower struct {
	logView
	merger *merge.Merger
	known  map[string]bool // ids of those that were added
}

// add adds a task, unless it has none of the containers that are shown.
func (j *targetFollower) add(s merge.Source) error {
	j.known[s.Task.ID()] = true
	only := j.query.Container
	if only != "" && !slices.ContainsFunc(s.Task.Containers, func(c client.Container) bool { return c.Name == only }) {
		j.inv.Notef("task %s has no container %s", s.Label, only)
		return nil
	}
	return j.merger.Add(s)
}

const (
	// joinPause is how long after a look at the tasks of the targets the next one is made, at least.
	joinPause = 300 * time.Millisecond
	// joinInterval is how long after it the next one is made at most: events may have been missed.
	joinInterval = 15 * time.Second
)

// follow looks for tasks that have started, whenever the pool tells of a change of one of the targets. It returns when all have ended and no
// more are to come, or ctx ends.
func (j *targetFollower) follow(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	go j.listen(ctx, changed)
	for {
		var tasks []client.Task
		err := j.inv.RetryUnavailable(ctx, func() (err error) {
			tasks, err = j.targets.Members(ctx, j.inv)
			return err
		})
		if err != nil {
			return ctxError(ctx, err)
		}
		running := false
		for _, task := range tasks {
			running = running || !task.Stopped()
			if j.known[task.ID()] || task.Instance == "" || task.Stopped() && task.StoppedAt.Before(j.query.Since) {
				continue
			}
			label := format.ID(task.ID())
			if format.Index(task) != "" {
				label = format.TaskName(task)
			}
			j.inv.Notef("%s joins: %s", label, client.ResourceID(task.Definition))
			if err := j.add(merge.Source{Task: task, Label: label}); err != nil {
				j.inv.Notef("%s is not shown: %v", label, err)
			}
		}
		if !running && !j.targets.Last() {
			return nil
		}
		if err := pause(ctx, joinPause, nil); err != nil {
			return nil
		}
		if err := pause(ctx, joinInterval, changed); err != nil {
			return nil
		}
	}
}

// ctxError is nil when a step failed because ctx has ended.
func ctxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits for so long, or for early.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// listen tells of changes of the tasks of the targets, as long as the pool tells of them.
func (j *targetFollower) listen(ctx context.Context, changed chan<- struct{}) {
	for ctx.Err() == nil {
		err := j.inv.Client.Events(ctx, client.EventQuery{Cluster: j.targets.Cluster(), Types: "task", Follow: true}, func(e client.Event) error {
			var envelope struct{ Detail client.Task }
			if e.Type != "" && (json.Unmarshal(e.Data, &envelope) != nil || !j.targets.Has(envelope.Detail)) {
				return nil
			}
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
		if err != nil && ctx.Err() == nil && !client.IsUnavailable(err) {
			j.inv.Notef("the pool tells of no changes (%v): tasks that start are looked for every %v", err, joinInterval)
			return
		}
		if pause(ctx, time.Second, nil) != nil {
			return
		}
	}
}

package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"strings"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// launcher registers the definition and starts the tasks of one `pinion run`.
type launcher struct {
	inv     *invocation.Invocation
	request request
}

// launch returns the started tasks, at least one. Tasks that were not placed are reported.
func (l *launcher) launch(ctx context.Context, definition Definition) ([]client.Task, error) {
	revision, err := l.revision(ctx, definition)
	if err != nil {
		return nil, err
	}
	var output struct {
		Tasks    []client.Task    `json:"tasks"`
		Failures []client.Failure `json:"failures"`
	}
	if err := l.inv.Client.Call(ctx, "RunTask", l.runTaskInput(revision), &output); err != nil {
		return nil, l.runTaskError(err)
	}
	if len(output.Tasks) == 0 {
		return nil, &exit.Error{Err: l.placementError(ctx, output.Failures), Code: exit.NotStarted}
	}
	if missing := l.request.batch.count - len(output.Tasks); missing > 0 {
		l.inv.Notef("%d of %s were not placed: %v", missing, format.Plural(l.request.batch.count, "task"), l.placementError(ctx, output.Failures))
	}
	return output.Tasks, nil
}

// revision is the definition to run, "family:revision". It is looked for while the cluster is checked, and registered after that.
func (l *launcher) revision(ctx context.Context, d Definition) (string, error) {
	checked := make(chan error, 1)
	go func() { checked <- l.refuseEmptyCluster(ctx) }()
	if l.request.definition != "" {
		return l.request.definition, <-checked
	}
	known, err := findRegistered(ctx, l.inv, d.Family)
	if refused := <-checked; refused != nil {
		return "", refused
	}
	if err != nil {
		return "", err
	}
	return registerUnless(ctx, l.inv, known, d)
}

// runTaskInput is the input of RunTask.
func (l *launcher) runTaskInput(definition string) map[string]any {
	in := map[string]any{
		"cluster": l.request.cluster, "taskDefinition": definition, "startedBy": l.request.startedBy,
		"clientToken": strings.ToLower(rand.Text()),
	}
	if l.request.exec {
		in["enableExecuteCommand"] = true
	}
	l.request.batch.addToInput(in)
	maps.Copy(in, l.request.placement)
	if l.request.overrides != nil {
		in["overrides"] = l.request.overrides
	}
	if len(l.request.tags) > 0 {
		in["tags"] = l.request.tags
	}
	return in
}

// printStarted prints the tasks of a detached run.
func (l *launcher) printStarted(tasks []client.Task) error {
	if l.inv.Output == invocation.JSON {
		return printTasks(l.inv, l.request, tasks)
	}
	for _, task := range tasks {
		if _, err := fmt.Fprintln(l.inv.Out, task.ID()); err != nil {
			return err
		}
	}
	return nil
}

// printTasks prints the one JSON document of a run: a task, or the list of several.
func printTasks(inv *invocation.Invocation, r request, tasks []client.Task) error {
	if r.batch.count == 1 {
		return inv.PrintJSON(tasks[0])
	}
	return inv.PrintJSON(tasks)
}

package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
	"pinion/raftfsm"
)

func runCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run one container as a task and show what it writes",
		ArgsUsage: "IMAGE [-- COMMAND ARGUMENTS...]",
		Description: `Registers a task definition for the image (family run-NAME), starts a task of it, shows the pull and then what the
container writes, and exits with the container's exit code. Ctrl-C stops the task; a second Ctrl-C leaves at once.

Exit codes: the container's own; 125 the task did not start; 1 another error; 2 wrong usage; 130 left by Ctrl-C.

Examples:
   pinion run pinion/self -- pinion gpus --container
   pinion run --gpus 2 nvidia/cuda:12.4.1-base-ubuntu22.04 -- nvidia-smi -L
   pinion run --gpus 1 --cpus 8 --memory 64g --shm-size 16g --volume /data:/data:ro --env EPOCHS=3 my/trainer -- python train.py
   pinion run -d --name train my/trainer`,
		Flags: runFlags(),
		Action: func(c *cli.Context) error {
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			definition, err := definitionOf(c)
			if err != nil {
				return err
			}
			tags, err := taskTags(c)
			if err != nil {
				return err
			}
			r := &runner{desk: d, cluster: c.String("cluster"), gpus: c.Int("gpus"), tags: tags}
			return r.run(c.Context, p.interrupts, definition, c.Bool("detach"))
		},
	}
}

// interrupts is where Ctrl-C, SIGTERM and the closing of the terminal arrive from now on, until release is called.
func (p Program) interrupts() (signals <-chan os.Signal, release func()) {
	if p.signals != nil {
		return p.signals, func() {}
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return caught, func() { signal.Stop(caught) }
}

// runner carries one `pinion run` from the definition to the exit code.
type runner struct {
	*desk
	cluster string
	gpus    int
	tags    []raftfsm.Tag // of the task
}

// taskTags are the wishes of the command line that a task carries as tags.
func taskTags(c *cli.Context) ([]raftfsm.Tag, error) {
	if !c.IsSet("lost-after") {
		return nil, nil
	}
	tags := []raftfsm.Tag{{Key: raftfsm.TagLostAfter, Value: c.String("lost-after")}}
	if err := raftfsm.CheckLostAfter(tags); err != nil {
		return nil, usageErrorf("--lost-after: %v", err)
	}
	return tags, nil
}

// run starts a task and, unless detached, stays with it. The first interrupt stops the task, the next one leaves;
// that is why the caller's own cancellation by the same signals is not passed on.
func (r *runner) run(ctx context.Context, interrupts func() (<-chan os.Signal, func()), definition definition, detach bool) error {
	signals, release := interrupts()
	defer release()
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	w := &watch{runner: r, leave: leave}
	go w.heed(ctx, signals)

	task, err := r.launch(ctx, definition)
	if err != nil {
		return firstCause(ctx, err)
	}
	if detach {
		return r.printStarted(task)
	}
	w.started(task.ID())
	return firstCause(ctx, w.follow(ctx, task))
}

// firstCause prefers the reason why ctx was cancelled to the error that came of it.
func firstCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *runner) printStarted(task client.Task) error {
	if r.output == outputJSON {
		return printJSON(r.out, task)
	}
	_, err := fmt.Fprintln(r.out, task.ID())
	return err
}

// launch registers the definition and starts one task of it.
func (r *runner) launch(ctx context.Context, definition definition) (client.Task, error) {
	document, err := json.Marshal(definition)
	if err != nil {
		return client.Task{}, err
	}
	reply, err := r.register(ctx, "application/json", document)
	if err != nil {
		return client.Task{}, err
	}
	name, err := registeredName(reply)
	if err != nil {
		return client.Task{}, err
	}
	var answer struct {
		Tasks    []client.Task    `json:"tasks"`
		Failures []client.Failure `json:"failures"`
	}
	in := map[string]any{"cluster": r.cluster, "taskDefinition": name, "count": 1, "startedBy": "pinion-run", "clientToken": strings.ToLower(rand.Text())}
	if len(r.tags) > 0 {
		in["tags"] = r.tags
	}
	if err := r.host.Call(ctx, "RunTask", in, &answer); err != nil {
		return client.Task{}, r.explainRefusal(err)
	}
	if len(answer.Tasks) == 0 {
		return client.Task{}, &exitError{error: r.explainFailures(ctx, answer.Failures), code: exitNoStart}
	}
	return answer.Tasks[0], nil
}

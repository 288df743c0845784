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
	"pinion/raftfsm/spec"
)

func runCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run one container as a task and show what it writes",
		ArgsUsage: "IMAGE [-- COMMAND ARGUMENTS...]",
		Description: `Registers a task definition for the image (family run-NAME), starts a task of it, shows the pull and then what the
container writes, and exits with the container's exit code. Ctrl-C stops the task; a second Ctrl-C leaves at once.
The image pinion/self is built in and has no shell: its commands are pinion's own, such as "pinion pause", which stays.
A task that finds no place waits for one: "pinion why TASK" says what for; when no host could ever run it that is said at
once. Of several tasks it shows how they come on; "pinion logs TASK" shows what one of them writes.

With -o json standard output holds one JSON document and nothing else: the task, a list of several, as DescribeTasks has
it; with -d as it was started, else as it ended, the last attempt at its work. What the container writes goes to standard
error then.

Exit codes: the container's own, of several the first that failed; 125 the task did not start; 1 another error; 2 wrong
usage; 130 left by Ctrl-C.

Examples:
   pinion run pinion/self -- pinion gpus --container
   pinion run --gpus 2 nvidia/cuda:12.4.1-base-ubuntu22.04 -- nvidia-smi -L
   pinion run --gpus 1 --cpus 8 --memory 64g --shm-size 16g --volume /data:/data:ro --env EPOCHS=3 my/trainer -- python train.py
   pinion run -d --name train my/trainer
   pinion run --gang --count 8 --gpus 1 --network host my/trainer -- sh -c 'exec python train.py --rank $RANK'
   pinion run --array 0-99 --retries 3 --retry-on 137 --group nightly my/worker
   pinion run --after group:nightly --priority 50 --team vision --time-limit 2h my/report
   pinion run --no-wait --preemptible my/experiment
   pinion run -o json my/trainer | jq '.containers[0].exitCode'`,
		Flags: runFlags(),
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			definition, err := parseDefinition(c)
			if err != nil {
				return err
			}
			tags, err := parseTags(c)
			if err != nil {
				return err
			}
			batch, err := parseBatchOptions(c)
			if err != nil {
				return err
			}
			r := &runner{session: s, cluster: c.String("cluster"), gpus: c.Int("gpus"), batchOptions: batch, tags: tags, startedBy: "pinion-run"}
			if err := r.resolveDependencies(c.Context, r.cluster, tags); err != nil {
				return err
			}
			if r.scheduling, err = spec.ParseSchedulingOptions(tags); err != nil {
				return err
			}
			if r.mayRetry() {
				r.startedBy += "-" + strings.ToLower(rand.Text()) // by which later attempts are found
			}
			return r.run(c.Context, p.notifyInterrupts, definition, c.Bool("detach"))
		},
	}
}

// notifyInterrupts is where Ctrl-C, SIGTERM and the closing of the terminal arrive from now on, until release is called.
func (p Program) notifyInterrupts() (signals <-chan os.Signal, release func()) {
	if p.signals != nil {
		return p.signals, func() {}
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return caught, func() { signal.Stop(caught) }
}

// runner carries one `pinion run` from the definition to the exit code.
type runner struct {
	*session
	batchOptions
	cluster    string
	gpus       int
	tags       []spec.Tag             // of the tasks
	scheduling spec.SchedulingOptions // what the tags say
	startedBy  string
}

// run starts a task and, unless detached, stays with it. The first interrupt stops the task, the next one leaves;
// that is why the caller's own cancellation by the same signals is not passed on.
func (r *runner) run(ctx context.Context, interrupts func() (<-chan os.Signal, func()), definition definition, detach bool) error {
	signals, release := interrupts()
	defer release()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	w := &watch{runner: r, cancel: cancel}
	go w.handleSignals(ctx, signals)

	tasks, err := r.launch(ctx, definition)
	if err != nil {
		return firstCause(ctx, err)
	}
	if detach {
		err := r.printStarted(tasks)
		r.warnUnschedulable(ctx, tasks, detach) // an interrupt ends only the question: the task was to be left alone
		return err
	}
	w.setTasks(tasks)
	w.unschedulable = r.warnUnschedulable(ctx, tasks, detach)
	if len(tasks) > 1 {
		return firstCause(ctx, w.followBatch(ctx, tasks))
	}
	return firstCause(ctx, w.follow(ctx, tasks[0]))
}

// firstCause prefers the reason why ctx was cancelled to the error that came of it.
func firstCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *runner) printStarted(tasks []client.Task) error {
	if r.output == outputJSON {
		return r.printTasks(tasks)
	}
	for _, task := range tasks {
		if _, err := fmt.Fprintln(r.out, task.ID()); err != nil {
			return err
		}
	}
	return nil
}

// printTasks writes the one JSON document of a run: a task, or the list of several.
func (r *runner) printTasks(tasks []client.Task) error {
	if r.count == 1 {
		return printJSON(r.out, tasks[0])
	}
	return printJSON(r.out, tasks)
}

// launch registers the definition and starts the tasks of it. Those that found no place are told of, unless none did.
func (r *runner) launch(ctx context.Context, definition definition) ([]client.Task, error) {
	document, err := json.Marshal(definition)
	if err != nil {
		return nil, err
	}
	reply, err := r.register(ctx, "application/json", document)
	if err != nil {
		return nil, err
	}
	name, err := registeredName(reply)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Tasks    []client.Task    `json:"tasks"`
		Failures []client.Failure `json:"failures"`
	}
	in := map[string]any{"cluster": r.cluster, "taskDefinition": name, "startedBy": r.startedBy, "clientToken": strings.ToLower(rand.Text())}
	r.addToRequest(in)
	if len(r.tags) > 0 {
		in["tags"] = r.tags
	}
	if err := r.client.Call(ctx, "RunTask", in, &answer); err != nil {
		return nil, r.runTaskError(err)
	}
	if len(answer.Tasks) == 0 {
		return nil, &exitError{error: r.placementError(ctx, answer.Failures), code: exitNoStart}
	}
	if missing := r.count - len(answer.Tasks); missing > 0 {
		r.notef("%d of %s found no place: %v", missing, plural(r.count, "task"), r.placementError(ctx, answer.Failures))
	}
	return answer.Tasks, nil
}

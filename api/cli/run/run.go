// Package run is `pinion run`: it registers a task definition for an image, starts tasks of it, follows them, and ends with
// the exit code of the container.
package run

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

const description = `Registers a task definition for the image (family run-NAME), unless the newest of that family is the same, or takes a registered
one (FAMILY[:REVISION]; command, --env, --gpus, --cpus and --memory go before what it says). It starts a task of it, shows the pull and then the output of the
container, and exits with the container's exit code. Ctrl-C stops the task; a second Ctrl-C leaves at once.
The image pinion/self is built in and has no shell: its commands are pinion's own, such as "pinion pause", which waits, and "pinion hello", which answers HTTP.
A task that no host can run now waits in the queue: "pinion why TASK" explains it; one that no host could ever run fails at
once, unless --wait-for-host is given. With -i or -t the task waits and COMMAND, "sh" unless given, runs in it with your input or on your
terminal, and the task ends with it: 'pinion shell --help' says more. When the terminal goes away (SIGHUP), the task runs on. Several tasks are followed by their statuses; "pinion logs TASK" shows the output of one.

With -o json standard output holds one JSON document and nothing else: the task, or a list of several, as in DescribeTasks;
with -d as it was started, otherwise as it ended (the last attempt). The output of the container goes to standard error.

Exit codes: the container's own, of several tasks that of the first failure; 125 the task did not start; 1 another error;
2 wrong usage; 130 left by Ctrl-C.

Examples:
   pinion run pinion/self -- pinion gpus --container
   pinion run -it --gpus 1 nvidia/cuda:12.4.1-devel-ubuntu22.04 -- bash
   pinion run --gpus 2 nvidia/cuda:12.4.1-base-ubuntu22.04 -- nvidia-smi -L
   pinion run --gpus 1 --cpus 8 --memory 64g --shm-size 16g -v /data:/data:ro -e EPOCHS=3 my/trainer -- python train.py
   pinion run --secret HF_TOKEN=hf-token my/trainer
   pinion run -d -p 8888:8888 -w /work -u 1000 my/notebook
   pinion run -d --name train my/trainer
   pinion run trainer:3 -- python train.py --epochs 5
   pinion run --gang --count 8 --gpus 1 --network host my/trainer -- sh -c 'exec python train.py --rank $RANK'
   pinion run --array 0-99 --retries 3 --retry-on 137 --group nightly my/worker
   pinion run --after group:nightly --priority 50 --team vision --time-limit 2h my/report
   pinion run --no-wait --preemptible my/experiment
   pinion run --gpus 8 --gpu-model H100 --constraint 'ec2InstanceId != gpu-7' my/trainer
   pinion run --service web --count 3 --gpus 1 -p 8000 my/server
   pinion run -o json my/trainer | jq '.containers[0].exitCode'`

// Command is the command `pinion run`. serve is what becomes of it with --service, attach gives a command the streams of this process with -i and -t.
func Command(system invocation.System, serve func(*cli.Context, *invocation.Invocation) error, attach Attach) *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "Run a container as a task and show its output",
		ArgsUsage:   "IMAGE|FAMILY[:REVISION] [COMMAND ARGUMENTS...]",
		Description: description,
		Flags:       append(attachFlags(), flags()...),
		Action: func(c *cli.Context) error {
			if err := refuseTime(c); err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if c.Bool("interactive") || c.Bool("tty") {
				return runAttached(c, inv, attach)
			}
			if c.IsSet("service") {
				return serve(c, inv)
			}
			if err := invocation.RefuseInput(c.App.Reader, "give -i with an image that has sh and sleep, mount a file with --volume"); err != nil {
				return err
			}
			definition, wrong := parseDefinition(c)
			request, err := parseRequest(c)
			if err := exit.Join(wrong, err); err != nil {
				return err
			}
			if err := request.complete(c.Context, inv); err != nil {
				return err
			}
			if err := request.useRegistered(c.Context, c, inv); err != nil {
				return err
			}
			return run(c.Context, &launcher{inv: inv, request: request}, system.Interrupts, definition, c.Bool("detach"))
		},
	}
}

// request is the tasks that a command line asks for, apart from their definition.
type request struct {
	cluster      string
	gpus         int // of each task
	batch        batchOptions
	tags         []spec.Tag
	scheduling   spec.SchedulingOptions // parsed from the tags
	startedBy    string                 // by which later attempts are found
	definition   string                 // a registered one, "family:revision"; empty: one is made for the image
	overrides    map[string]any         // of the registered definition; nil: none
	unregistered string                 // the image, when it has the form of a definition and none has its name
	publishes    bool                   // asks for ports of the host
	placement    map[string]any         // what it asks of hosts, as RunTask takes it
	selectsGPUs  bool                   // its constraints are on GPUs, too
	exec         bool                   // commands may be run in its containers, see NoExecFlag
}

// parseRequest reads the flags. The error is all that is wrong with them.
func parseRequest(c *cli.Context) (request, error) {
	r := request{cluster: c.String("cluster"), gpus: c.Int("gpus"), startedBy: "pinion-run", publishes: c.IsSet("publish"), exec: !c.Bool("no-exec"), placement: map[string]any{}}
	wrong := []error{AddPlacement(c, r.placement), nil, nil}
	r.selectsGPUs = selectsGPUs(r.placement)
	r.tags, wrong[1] = ParseTags(c)
	r.batch, wrong[2] = parseBatchOptions(c)
	return r, exit.Join(wrong...)
}

// complete asks the pool what the request needs to know of it.
func (r *request) complete(ctx context.Context, inv *invocation.Invocation) (err error) {
	if err := resolveDependencies(ctx, inv, r.cluster, r.tags); err != nil {
		return err
	}
	if r.scheduling, err = spec.ParseSchedulingOptions(r.tags); err != nil {
		return err
	}
	r.warnOfTeam(ctx, inv)
	if r.mayRetry() {
		r.startedBy += "-" + strings.ToLower(rand.Text())
	}
	return nil
}

// mayRetry reports whether there can be later attempts at the work of the tasks.
func (r *request) mayRetry() bool { return r.scheduling.Retries > 0 || r.scheduling.Preemptible }

// run starts tasks and, unless detached, follows them. It has a context of its own: the first interrupt stops the tasks
// and goes on showing their output, the second one cancels, with the reason as the cause.
func run(ctx context.Context, l *launcher, interrupts interruptSource, definition Definition, detach bool) error {
	signals, release := interrupts()
	defer release()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	handler := &interruptHandler{inv: l.inv, cluster: l.request.cluster, cancel: cancel}
	go handler.handleSignals(ctx, signals)

	tasks, err := l.launch(ctx, definition)
	if err != nil {
		return causeOf(ctx, err)
	}
	// An interrupt ends the question alone while the tasks are not its: those of a detached run are to go on.
	if !detach {
		handler.setTasks(tasks)
	}
	warned, err := l.refuseUnschedulable(ctx, tasks, func(tasks []client.Task) { handler.stopTasks(ctx, tasks, reasonUnschedulable) })
	if err != nil {
		return err
	}
	if detach {
		l.noteTakenPort(ctx, tasks[0])
		return l.printStarted(tasks)
	}
	f := &follower{inv: l.inv, request: l.request, interrupts: handler, unschedulable: warned}
	if len(tasks) > 1 {
		return causeOf(ctx, f.followBatch(ctx, tasks))
	}
	return causeOf(ctx, f.follow(ctx, tasks[0]))
}

// causeOf is the reason why ctx was cancelled instead of the error that followed from it.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

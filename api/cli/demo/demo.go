// Package demo is `pinion demo`: a host in a scratch directory, a task on two GPUs, its log and its exit code, and nothing left behind.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/client"
	"pinion/packaging/backoff"
)

// simulated are the GPUs of a machine that has none.
const simulated = "sim:8xh100"

// definition is AWS's example of a task with GPUs, with the built-in image.
const definition = `{
  "family": "example-ecs-gpu",
  "containerDefinitions": [
    {
      "name": "gpu",
      "image": "pinion/self",
      "memory": 80,
      "cpu": 100,
      "essential": true,
      "command": ["/pinion", "gpus", "--container"],
      "resourceRequirements": [{ "type": "GPU", "value": "2" }]
    }
  ]
}
`

// Command is the command `pinion demo`. check says what this machine lacks to be a host.
func Command(check func() error) *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "Start a host in a scratch directory, run a task on two of its GPUs, and take everything away again",
		Description: `It uses the GPUs of this machine; without any it simulates eight and says so. Everything else is real. It takes some seconds and a free port,
and leaves nothing behind, also when it is interrupted. A host that runs on this machine is not touched.

Examples:
   sudo pinion demo
   sudo pinion demo --stay     # the host runs on until Ctrl-C, to try more`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "stay", Usage: "keep the host until Ctrl-C"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("pinion demo takes no arguments; see pinion demo --help")
			}
			if err := check(); err != nil {
				return err
			}
			// Nothing is left behind either when its terminal goes, or the program that reads what it prints.
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			defer stop()
			return show(ctx, c.App.Writer, c.Bool("stay"))
		},
	}
}

// demo is one demonstration.
type demo struct {
	program string // path of this binary
	data    string // the data directory of its host
	address string // of its host, https://...
	out     io.Writer
	host    *os.Process // nil: it was not started
	ended   chan error  // the host's end
}

// show shows everything, and takes it away again whatever happens.
func show(ctx context.Context, out io.Writer, stay bool) (err error) {
	d := &demo{out: out, ended: make(chan error, 1)}
	if d.program, err = os.Executable(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "pinion-demo-")
	if err != nil {
		return err
	}
	d.data = filepath.Join(scratch, "data")
	defer func() {
		d.printHeading("Cleaning up")
		d.stopHost()
		left := d.command(context.WithoutCancel(ctx), "down", "--purge", "--force").Run()
		if left != nil {
			left = fmt.Errorf("%s is still there, with what runs in it: `pinion --data-dir %s down --purge --force` takes it away: %w", scratch, d.data, left)
		} else {
			left = os.RemoveAll(scratch)
		}
		err = errors.Join(err, left)
	}()
	if err = d.play(ctx, scratch); err == nil && stay {
		err = d.stay(ctx)
	}
	if ctx.Err() != nil {
		err = nil // it was asked to end
	}
	return err
}

// play shows a host, a definition, a task, its log and its end.
func (d *demo) play(ctx context.Context, scratch string) error {
	source := "auto"
	if found, _ := filepath.Glob("/proc/driver/nvidia/gpus/*"); len(found) == 0 {
		source = simulated
		d.printHeading("This machine has no NVIDIA GPU: the demo SIMULATES eight H100s. Everything else is real.")
	}
	d.printHeading("1. Start a host")
	if err := d.startHost(ctx, filepath.Join(scratch, "up.log"), source); err != nil {
		return err
	}
	if err := d.run(ctx, "gpus"); err != nil {
		return err
	}
	d.printHeading("2. Register a task definition: AWS's example-ecs-gpu, with the built-in image")
	file := filepath.Join(scratch, "example-ecs-gpu.json")
	if err := os.WriteFile(file, []byte(definition), 0o600); err != nil {
		return err
	}
	fmt.Fprint(d.out, definition)
	if err := d.run(ctx, "register", "-f", file); err != nil {
		return err
	}
	task, err := d.runTask(ctx)
	if err != nil {
		return err
	}
	d.printHeading("4. What the container saw: its own two GPUs and no other")
	if err := d.run(ctx, "logs", "-f", task); err != nil {
		return err
	}
	d.printHeading("5. How it ended")
	code, err := d.exitCode(ctx, task)
	if err != nil {
		return err
	}
	if err := d.run(ctx, "ps", "-a"); err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the task ended with exit code %d, not 0", code)
	}
	fmt.Fprintf(d.out, "exit code 0\nIts web page: %s/ui/   (pinion demo --stay keeps the host)\n", d.address)
	return nil
}

// runTask runs the task as a client of ECS does, and shows the GPUs that it has got.
func (d *demo) runTask(ctx context.Context) (id string, err error) {
	d.printHeading("3. Run it, as the AWS CLI would: the reply names the GPUs")
	host, err := d.client()
	if err != nil {
		return "", err
	}
	var answer struct {
		Tasks    []client.Task    `json:"tasks"`
		Failures []client.Failure `json:"failures"`
	}
	if err := host.Call(ctx, "RunTask", map[string]any{"taskDefinition": "example-ecs-gpu"}, &answer); err != nil {
		return "", err
	}
	if len(answer.Tasks) != 1 || len(answer.Tasks[0].Containers) != 1 {
		return "", fmt.Errorf("RunTask has started no task: %+v", answer.Failures)
	}
	id = client.ResourceID(answer.Tasks[0].ARN)
	fmt.Fprintf(d.out, "task   %s\ngpuIds %s\n", id, strings.Join(answer.Tasks[0].Containers[0].GPUs, " "))
	return id, nil
}

// exitCode waits until the task has stopped.
func (d *demo) exitCode(ctx context.Context, task string) (int, error) {
	host, err := d.client()
	if err != nil {
		return 0, err
	}
	for {
		tasks, _, err := host.DescribeTasks(ctx, "", []string{task})
		if err != nil || len(tasks) != 1 {
			return 0, errors.Join(err, fmt.Errorf("task %s is not known", task))
		}
		if t := tasks[0]; t.Status == "STOPPED" {
			if code := t.Containers[0].ExitCode; code != nil {
				return *code, nil
			}
			return 0, fmt.Errorf("the task has no exit code: %s", t.StoppedReason)
		}
		if err := backoff.Sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// stay keeps the host until the demo is told to end.
func (d *demo) stay(ctx context.Context) error {
	d.printHeading("The host runs on until Ctrl-C")
	fmt.Fprintf(d.out, "In another terminal, as root:\n  eval \"$(%s --data-dir %s env)\"   # then: pinion hosts, pinion run, aws ecs list-tasks\n  %s --data-dir %s key create --role admin   # a key for the web page, %s/ui/\n", d.program, d.data, d.program, d.data, d.address)
	select {
	case err := <-d.ended:
		return errors.Join(errors.New("the host has ended"), err)
	case <-ctx.Done():
		return nil
	}
}

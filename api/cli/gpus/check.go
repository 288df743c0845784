package gpus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func checkCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "Check GPUs and return the healthy ones to service",
		ArgsUsage: "GPU...",
		Description: `The host of the GPU asks the driver what it holds against it, and tests all of its memory. Tasks that have the GPU run on: the check waits until
they have ended, and the GPU gets no others until it has passed. Sick GPUs are checked without this command too, less and less often; one that needs a
reset does not pass before it. GPU is HOST/IDX as 'pinion gpus' lists them, a UUID, or the first characters of a UUID.

Examples:
   pinion gpus check gpu-2/3
   pinion gpus check --no-wait gpu-2/3 gpu-2/4`,
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "no-wait", Usage: "return as soon as the host knows of it"}},
		Action: func(c *cli.Context) error { return checkAll(system, c, false) },
	}
}

func resetCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "reset",
		Usage:     "Reset GPUs and check them",
		ArgsUsage: "GPU...",
		Description: `The host of the GPU runs 'nvidia-smi --gpu-reset' once no task and no other process has the GPU, and checks it as 'pinion gpus check' does. On machines
whose GPUs are connected by NVSwitch the driver may refuse to reset one of them: then drain and reboot the host.

Examples:
   pinion gpus reset gpu-2/3`,
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "no-wait", Usage: "return as soon as the host knows of it"}},
		Action: func(c *cli.Context) error { return checkAll(system, c, true) },
	}
}

func forgetCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "forget",
		Usage:     "Make hosts forget GPUs that were taken out",
		ArgsUsage: "GPU...",
		Description: `A GPU that the driver of its host does not list any more is LOST until it comes back. This command removes it from the host's list. When another GPU is
at its PCI address, the host forgets the old one by itself.

Examples:
   pinion gpus forget gpu-2/7`,
		Action: func(c *cli.Context) error {
			return changeEach(system, c, func(ctx context.Context, inv *invocation.Invocation, g client.GPU) error {
				return client.ForgetGPU(ctx, inv.Client, g.UUID)
			}, "is forgotten")
		},
	}
}

// checkAll has the GPUs that the arguments name checked, or reset and checked.
func checkAll(system invocation.System, c *cli.Context, reset bool) error {
	wait, result := !c.Bool("no-wait"), "works"
	if !wait {
		result = "is going to be checked"
	}
	return changeEach(system, c, func(ctx context.Context, inv *invocation.Invocation, g client.GPU) error {
		if err := client.CheckGPU(ctx, inv.Client, g.UUID, reset); err != nil || !wait {
			return err
		}
		for _, holder := range g.Holders() {
			if holder.Task != "" {
				inv.Notef("the check waits for task %s: `pinion stop %s` ends it", format.ID(holder.Task), format.ID(holder.Task))
			}
		}
		return outcome(ctx, inv.Client, g)
	}, result)
}

// Check has the host of a GPU check it, and waits until it has. The error says why the GPU has not passed.
func Check(ctx context.Context, c *client.Client, g client.GPU) error {
	if err := client.CheckGPU(ctx, c, g.UUID, false); err != nil {
		return fmt.Errorf("%s/%s (%s): %w", g.Host, g.Number(), g.UUID, err)
	}
	return outcome(ctx, c, g)
}

// outcome waits for the check of a GPU that was asked for. The error says why the GPU has not passed.
func outcome(ctx context.Context, c *client.Client, g client.GPU) error {
	problem, err := waitForGPUCheck(ctx, c, g.UUID)
	if err == nil && problem != "" {
		err = fmt.Errorf("%s/%s (%s) has not passed: %s", g.Host, g.Number(), g.UUID, problem)
	}
	return err
}

// gpuCheckInterval is how often the outcome of a check is asked for.
const gpuCheckInterval = 500 * time.Millisecond

// waitForGPUCheck waits for the outcome of a check. An agent that was restarted meanwhile knows nothing of it, and makes it all the same.
func waitForGPUCheck(ctx context.Context, c *client.Client, uuid string) (problem string, err error) {
	for {
		done, problem, err := client.GPUCheck(ctx, c, uuid)
		if refused, ok := errors.AsType[*client.APIError](err); ok && refused.Status == http.StatusNotFound {
			return "the host was restarted during the check: `pinion gpus -o wide` shows its result", nil
		}
		if err != nil || done {
			return problem, err
		}
		select {
		case <-time.After(gpuCheckInterval):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

package gpus

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func quarantineCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "quarantine",
		Usage:     "Quarantine GPUs: no new tasks get them",
		ArgsUsage: "GPU...",
		Description: `Tasks that have a GPU keep it; the other GPUs of its host go on as before. It stays in quarantine until it is released, also over restarts of its host.
GPU is HOST/IDX as 'pinion gpus' lists them, a UUID, or the first characters of a UUID.

Examples:
   pinion gpus quarantine gpu-2/3 --reason "ECC errors, ticket 4711"
   pinion gpus quarantine GPU-04866c28
   pinion gpus release gpu-2/3`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`TEXT` that is shown with the GPU"}},
		Action: func(c *cli.Context) error {
			return changeEach(system, c, func(ctx context.Context, inv *invocation.Invocation, g client.GPU) error {
				if err := client.QuarantineGPU(ctx, inv.Client, g.UUID, c.String("reason")); err != nil {
					return err
				}
				for _, holder := range g.Holders() {
					if holder.Task != "" {
						inv.Notef("task %s keeps it: `pinion stop %s` ends that", format.ID(holder.Task), format.ID(holder.Task))
					}
				}
				return nil
			}, "is in quarantine")
		},
	}
}

func releaseCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "release",
		Usage:     "Release GPUs from quarantine",
		ArgsUsage: "GPU...",
		Description: `A GPU that its host calls unhealthy stays so. GPU is HOST/IDX as 'pinion gpus' lists them, a UUID, or the first characters of a UUID; of one that
has left its host the whole UUID.

Examples:
   pinion gpus release gpu-2/3`,
		Action: func(c *cli.Context) error {
			return changeEach(system, c, func(ctx context.Context, inv *invocation.Invocation, g client.GPU) error {
				return client.ReleaseGPU(ctx, inv.Client, g.UUID)
			}, "is released")
		},
	}
}

// changeEach makes a change to each GPU that the arguments name, and prints that it is made.
func changeEach(system invocation.System, c *cli.Context, change func(context.Context, *invocation.Invocation, client.GPU) error, result string) error {
	if c.NArg() == 0 {
		return exit.Usagef("name a GPU: HOST/IDX as `pinion gpus` lists them, or a UUID")
	}
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	all, err := inv.Client.GPUs(c.Context)
	if err != nil {
		return err
	}
	var named []client.GPU
	for _, argument := range c.Args().Slice() {
		g, err := findGPU(all, argument)
		if err != nil {
			return err
		}
		named = append(named, g)
	}
	for _, g := range named {
		if err := change(c.Context, inv, g); err != nil {
			return err
		}
		where := cmp.Or(g.Host, "a host that has no longer got it")
		if g.Host != "" {
			where += "/" + g.Number()
		}
		if _, err := fmt.Fprintf(inv.Out, "%s (%s) %s\n", where, g.UUID, result); err != nil {
			return err
		}
	}
	return nil
}

// findGPU finds a GPU by HOST/IDX, its UUID or the beginning of that. A whole UUID that is not listed may be that of a GPU which has left its host.
func findGPU(all []client.GPU, argument string) (found client.GPU, err error) {
	names, matches := invocation.GPUHosts(all), 0
	for _, g := range all {
		index := "/" + g.Number()
		switch {
		case g.UUID == argument:
			return g, nil
		case argument == names[g.HostID]+index, argument == g.Host+index, argument == g.HostID+index, len(argument) >= 4 && strings.HasPrefix(g.UUID, argument):
			found = g
			matches++
		}
	}
	switch {
	case matches == 1:
		return found, nil
	case matches > 1:
		return found, fmt.Errorf("%d GPUs are named by %s: give more of the UUID (`pinion gpus -o wide`)", matches, argument)
	case strings.HasPrefix(argument, "GPU-") && len(argument) == len("GPU-00000000-0000-0000-0000-000000000000"):
		return client.GPU{Device: client.Device{UUID: argument}}, nil
	}
	return found, fmt.Errorf("there is no GPU %s: `pinion gpus -o wide` lists them", argument)
}

package cli

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// SimulatedGPUs are the simulated GPUs of the host with the data directory. Its methods fail where there are none.
type SimulatedGPUs interface {
	// Xid has the driver tell of an error once.
	Xid(dataDir string, index int, code uint64) error
	// Break breaks a GPU until Mend, for a reason in words for people. One that begins with "Xid N" breaks it as that error does.
	Break(dataDir string, index int, reason string) error
	// SetNVLinksDown has so many NVLinks of a GPU be down until Mend.
	SetNVLinksDown(dataDir string, index int, down string) error
	// SetFabricState sets the state of the NVLink fabric of a GPU until Mend.
	SetFabricState(dataDir string, index int, state string) error
	// SetSlowdown has a GPU slow itself down until Mend, as it does when it is too hot (thermal), or gets too little power (power-brake).
	SetSlowdown(dataDir string, index int, reason string) error
	// Hang has the driver not answer about a GPU until Mend.
	Hang(dataDir string, index int) error
	// HangDriver has the driver answer nothing, or with false answer again.
	HangDriver(dataDir string, hang bool) error
	// Mend mends whatever is wrong with a GPU. Nil when nothing was.
	Mend(dataDir string, index int) error
	// Unplug takes a GPU out of the machine until Plug.
	Unplug(dataDir string, index int) error
	// Plug puts a GPU back. Nil when it was there.
	Plug(dataDir string, index int) error
	// SetUtilization sets for how much of the time a GPU computes: a percentage, "85", or a curve that repeats, "0s:10,30s:95,60s:10".
	SetUtilization(dataDir string, index int, load string) error
}

// simulationCommands are those of simulations that the program has.
func simulationCommands(p Program) (commands []*cli.Command) {
	if p.Simulate != nil {
		commands = append(commands, simCommand(p))
	}
	if p.SimulatedGPUs != nil {
		commands = append(commands, simGPUCommand(p.SimulatedGPUs))
	}
	return commands
}

func simGPUCommand(gpus SimulatedGPUs) *cli.Command {
	change := func(name, usage, arguments string, count int, f func(dir string, index int, argument string) error) *cli.Command {
		return &cli.Command{Name: name, Usage: usage, ArgsUsage: arguments, Action: func(c *cli.Context) error {
			return simulatedGPU(c, arguments, count, f)
		}}
	}
	// orDriver is change of what can be done to the driver, too.
	orDriver := func(name, usage string, hang bool, f func(dir string, index int) error) *cli.Command {
		return &cli.Command{Name: name, Usage: usage, ArgsUsage: "INDEX|driver", Action: func(c *cli.Context) error {
			if dir, err := filepath.Abs(invocation.DataDir(c)); err == nil && c.NArg() == 1 && c.Args().First() == "driver" {
				return gpus.HangDriver(dir, hang)
			}
			return simulatedGPU(c, "INDEX|driver", 1, func(dir string, index int, _ string) error { return f(dir, index) })
		}}
	}
	return &cli.Command{
		Name:  "sim-gpu",
		Usage: "Have simulated GPUs of this host fail, recover and compute",
		Description: `For hosts that were started with --gpus sim:..., as root on that host. What tasks, 'pinion gpus' and 'pinion events' make of it is as with real GPUs.

Examples:
   sudo pinion sim-gpu xid 3 94               # the driver tells of a contained error of memory
   sudo pinion sim-gpu break 3 "Xid 79, the GPU has fallen off the bus"
   sudo pinion sim-gpu break 4 "Xid 119"      # 'pinion gpus reset' helps
   sudo pinion sim-gpu nvlink 5 2             # two of its NVLinks are down
   sudo pinion sim-gpu fabric 6 in-progress   # it has not joined its NVLink fabric
   sudo pinion sim-gpu slow 7 thermal         # it is too hot; or power-brake
   sudo pinion sim-gpu hang 2                 # the driver does not answer about it
   sudo pinion sim-gpu hang driver            # it answers nothing; mend driver ends that
   sudo pinion sim-gpu mend 3                 # whatever is wrong with it
   sudo pinion sim-gpu unplug 5               # the driver does not list it any more
   sudo pinion sim-gpu plug 5
   sudo pinion sim-gpu utilization 0 95
   sudo pinion sim-gpu utilization 1 0s:10,30s:95,60s:10   # a minute, again and again`,
		Subcommands: []*cli.Command{
			change("xid", "Have the driver tell of an Xid error once", "INDEX XID", 2, func(dir string, index int, argument string) error {
				code, err := strconv.ParseUint(argument, 10, 64)
				if err != nil || code == 0 {
					return exit.Usagef("%q is no number of an Xid error", argument)
				}
				return gpus.Xid(dir, index, code)
			}),
			change("break", "Break a GPU until it is mended", "INDEX REASON", 2, gpus.Break),
			change("nvlink", "Have some of a GPU's NVLinks be down until it is mended", "INDEX COUNT", 2, gpus.SetNVLinksDown),
			change("fabric", "Have a GPU be unable to use its NVLink fabric until it is mended: in-progress, failed, misconfigured, recovering, unhealthy", "INDEX STATE", 2, gpus.SetFabricState),
			change("slow", "Have a GPU slow itself down until it is mended: thermal, power-brake", "INDEX REASON", 2, gpus.SetSlowdown),
			orDriver("hang", "Have the driver not answer about a GPU, or answer nothing at all, until it is mended", true, gpus.Hang),
			orDriver("mend", "Mend whatever is wrong with a GPU, or have the driver answer again", false, gpus.Mend),
			change("unplug", "Take a GPU out of the machine", "INDEX", 1, func(dir string, index int, _ string) error { return gpus.Unplug(dir, index) }),
			change("plug", "Put a GPU back", "INDEX", 1, func(dir string, index int, _ string) error { return gpus.Plug(dir, index) }),
			change("utilization", "Set for how much of the time a GPU computes: a percentage, or a curve that repeats", "INDEX LOAD", 2, gpus.SetUtilization),
		},
	}
}

// simulatedGPU calls f with the index and the argument of a command about a simulated GPU.
func simulatedGPU(c *cli.Context, arguments string, count int, f func(dir string, index int, argument string) error) error {
	if c.NArg() != count {
		return exit.Usagef("give %s", arguments)
	}
	index, err := strconv.Atoi(c.Args().First())
	if err != nil || index < 0 {
		return exit.Usagef("%q is no index of a GPU: `pinion gpus` lists them", c.Args().First())
	}
	dir, err := filepath.Abs(invocation.DataDir(c))
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return f(dir, index, c.Args().Get(1))
}

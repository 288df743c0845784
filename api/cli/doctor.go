package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/doctor"
	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// DoctorConfig is the options of `pinion doctor`: those of the host that it checks.
type DoctorConfig struct {
	DataDir        string // absolute
	Listen         string
	Containerd     string
	RegistryConfig string
	Join           string
	JSON           bool
	Fix            bool // run the commands that mend what is found
	DryRun         bool // with Fix: only say which
}

func doctorCommand(p Program) *cli.Command {
	var config DoctorConfig
	return &cli.Command{
		Name:  "doctor",
		Usage: "Check this machine: what pinion needs and uses, and what to do about what is missing",
		Description: `Checks the kernel, control groups, GPU driver, disk, data directory, clock, ports to other hosts, containerd and registries, on a machine
on which pinion runs or never has. Without --fix it changes nothing. Each finding is ok, a warning, or failed, with what to do. It exits with 1 when one has
failed, and with 0 otherwise. Give it the options that 'pinion up' has. With --on-host or --all hosts of the pool check their machines, which takes
the key of an administrator; --all prints only what is not well.

--fix runs the commands that mend what was found, where nothing can be lost by it (modes of files, persistence mode, device nodes, the Fabric
Manager, the clock), and checks once more; --dry-run says which these are.

Examples:
   sudo pinion doctor
   sudo pinion doctor --fix --dry-run
   pinion doctor --all
   pinion doctor --on-host gpu-1 --on-host gpu-2
   sudo pinion doctor --join gpu-1        # a new machine: is the pool reached, and is the clock right?
   sudo pinion doctor -o json | jq '.findings[] | select(.level != "ok")'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every host of the pool, in place of this machine"},
			&cli.StringSliceFlag{Name: "on-host", Usage: "the host `NAME` of the pool, in place of this machine; repeatable"},
			&cli.BoolFlag{Name: "fix", Destination: &config.Fix, Usage: "run the suggested fixes on this machine"},
			invocation.DryRunFlag("run by --fix"),
			&cli.StringFlag{Name: "listen", Value: fmt.Sprint(":", DefaultPort), Destination: &config.Listen, Usage: "`ADDRESS` of the TLS port"},
			&cli.StringFlag{Name: "join", Destination: &config.Join, DefaultText: "none", Usage: "a host of the pool to join, `HOST[:PORT]`"},
			&cli.StringFlag{Name: "containerd", Destination: &config.Containerd, DefaultText: "built in", Usage: "the machine's own containerd at this `SOCKET`"},
			&cli.StringFlag{Name: "registry-config", Value: DefaultRegistryConfig, Destination: &config.RegistryConfig, Usage: "`DIR` with registry logins (config.json) and mirrors (certs.d)"},
		},
		Action: func(c *cli.Context) error { return p.examine(c, config) },
	}
}

// examine checks this machine, or has hosts of the pool check theirs.
func (p Program) examine(c *cli.Context, config DoctorConfig) (err error) {
	if c.Args().Present() {
		return exit.Usagef("pinion doctor takes no arguments; see pinion doctor --help")
	}
	if names := c.StringSlice("on-host"); c.Bool("all") || len(names) > 0 {
		switch ofThisMachine := []string{"listen", "join", "containerd", "registry-config", "fix", "dry-run"}; {
		case c.Bool("all") && len(names) > 0:
			return exit.Usagef("--all is every host, and --on-host some: give one of them")
		case slices.ContainsFunc(ofThisMachine, c.IsSet):
			return exit.Usagef("--%s are options of this machine: hosts of the pool are checked with their own", strings.Join(ofThisMachine, ", --"))
		}
		inv, err := p.system.Invoke(c)
		if err != nil {
			return err
		}
		return doctor.Hosts(c, inv, names)
	}
	output, err := invocation.OutputFormat(c)
	if err != nil {
		return err
	}
	config.JSON, config.DryRun = output == invocation.JSON, c.Bool("dry-run")
	if config.DryRun && !config.Fix {
		return exit.Usagef("--dry-run is of --fix: without it pinion doctor changes nothing")
	}
	if config.DataDir, err = filepath.Abs(invocation.DataDir(c)); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	host := UpConfig{Listen: config.Listen, Join: config.Join, GPUs: GPUOptions{"auto", MIGStatic}}
	if err := host.check(); err != nil {
		return err
	}
	config.Join = host.Join
	return p.Doctor(c.Context, c.App.Writer, config)
}

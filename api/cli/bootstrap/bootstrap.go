// Package bootstrap is `pinion init`: it makes hosts of machines, over SSH.
package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"pinion/api/cli/configfile"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
)

// maxMachines bounds the machines of one command, maxAtOnce those that are worked on at the same time.
const (
	maxMachines = 256
	maxAtOnce   = 8
)

const description = `Copies this pinion to the machines, makes the first one the first host of a new pool, joins the others to it, and checks all of them.
Where one is a host already, the others join its pool. Machines are reached by the ssh program, with its keys and settings, as root or as a user
who has sudo without a password; 'localhost' is this machine. With systemd pinion becomes a service; without, it runs until the machine ends. The same command
again goes on where the one before has stopped. Nothing is changed while one of the machines is refused. To add machines to a pool, name one of
its servers with them.

Examples:
   pinion init --hosts root@gpu-1,root@gpu-2,root@gpu-3
   pinion init --hosts localhost,gpu-2,gpu-3 --config rack.yaml --dry-run
   pinion init --hosts root@gpu-1,root@gpu-4      # gpu-4 joins the pool of gpu-1`

// Command is the command `pinion init`. unit is the systemd unit of a host, options are those of `pinion up`.
func Command(unit string, options []cli.Flag) *cli.Command {
	return &cli.Command{
		Name:        "init",
		Usage:       "Make a pool of machines, over SSH",
		Description: description,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "hosts", Required: true, Usage: "the `MACHINES` as ssh takes them, separated by commas"},
			&cli.StringFlag{Name: "config", Usage: "`FILE` with options of 'pinion up', for /etc/pinion/config.yaml of all of them"},
			&cli.StringFlag{Name: "binary", DefaultText: "this pinion", Usage: "the pinion to copy, a `FILE`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "look at the machines, and say what would be done"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("pinion init takes no arguments; see pinion init --help")
			}
			b := &bootstrap{unit: unit, options: options, out: c.App.Writer, progress: c.App.ErrWriter}
			if err := b.take(c); err != nil {
				return err
			}
			return b.run(c.Context, c.Bool("dry-run"))
		},
	}
}

// bootstrap is one run of the command.
type bootstrap struct {
	machines  []*machine
	program   []byte // what is copied
	digest    string // SHA-256 of it
	processor string // that it is for, in Go's word
	options   []cli.Flag
	config    []byte // for config.yaml; nil: none
	unit      string // of systemd
	out       io.Writer
	progress  io.Writer
}

// take reads the options.
func (b *bootstrap) take(c *cli.Context) (err error) {
	for name := range strings.SplitSeq(c.String("hosts"), ",") {
		name = strings.TrimSpace(name)
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n'\"") {
			return exit.Usagef("--hosts %q: %q is no machine: names are separated by commas, as in root@gpu-1,root@gpu-2", c.String("hosts"), name)
		}
		if slices.ContainsFunc(b.machines, func(m *machine) bool { return m.name == name }) {
			return exit.Usagef("--hosts names %s twice", name)
		}
		m := &machine{name, overSSH(name)}
		if name == local {
			m.shell = runLocally
		}
		b.machines = append(b.machines, m)
	}
	if len(b.machines) > maxMachines {
		return exit.Usagef("--hosts names %d machines, and %d are the most: the others may join later", len(b.machines), maxMachines)
	}
	if file := c.String("config"); file != "" {
		if b.config, err = configfile.Read(file, b.options); err != nil {
			return err
		}
	}
	file := c.String("binary")
	if file == "" && runtime.GOOS != "linux" {
		return exit.Usagef("this pinion is for %s, and hosts are Linux machines: give --binary one for Linux", runtime.GOOS)
	}
	if file == "" {
		if file, err = os.Executable(); err != nil {
			return err
		}
	}
	if b.program, err = os.ReadFile(file); err != nil {
		return exit.Usagef("--binary: %w", err)
	}
	sum := sha256.Sum256(b.program)
	b.digest = hex.EncodeToString(sum[:])
	if b.processor, err = processorOf(b.program); err != nil {
		return exit.Usagef("--binary %s: %w", file, err)
	}
	return nil
}

// processorOf is what a program runs on, in Go's word.
func processorOf(program []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("it is no program for Linux: %w", err)
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("it is for %v, and pinion is for x86-64 and arm64", f.Machine)
}

// run makes the hosts.
func (b *bootstrap) run(ctx context.Context, dry bool) error {
	all := make([]facts, len(b.machines))
	if err := b.each(ctx, nil, func(ctx context.Context, i int) (err error) {
		all[i], err = inspectMachine(ctx, b.machines[i])
		return err
	}); err != nil {
		return err
	}
	steps, founder := chooseSteps(all, b.digest, b.processor)
	refused := false
	for i, s := range steps {
		fmt.Fprintf(b.out, "%s: %s\n", b.machines[i].name, s)
		refused = refused || s.refused != ""
		if !all[i].systemd && !s.already {
			b.printFor(i, "has no systemd: pinion runs there until the machine ends, and logs to /var/log/pinion.log")
		}
	}
	switch {
	case refused:
		return errors.New("nothing was changed, as machines are refused")
	case dry:
		return nil
	}
	work := func(i int) bool { return !steps[i].already }
	if err := b.each(ctx, work, func(ctx context.Context, i int) error { return b.install(ctx, i, &steps[i], &all[i]) }); err != nil {
		return err
	}
	if steps[founder].founds {
		b.printFor(founder, "starts")
		if _, err := b.machines[founder].script(ctx, "start.sh", nil, ""); err != nil {
			return b.of(founder, err)
		}
	}
	if err := b.join(ctx, steps, founder); err != nil {
		return err
	}
	return b.report(ctx, founder)
}

// install brings a machine all that it needs to start, and has it examined.
func (b *bootstrap) install(ctx context.Context, i int, s *step, is *facts) error {
	m := b.machines[i]
	if s.copies {
		b.printFor(i, "gets pinion, "+format.Bytes(int64(len(b.program))))
		if _, err := m.script(ctx, "install.sh", bytes.NewReader(b.program), b.digest); err != nil {
			return err
		}
	}
	if b.config != nil {
		if _, err := m.script(ctx, "file.sh", bytes.NewReader(b.config), "/etc/pinion/config.yaml"); err != nil {
			return err
		}
	}
	if is.systemd && !is.unit {
		if _, err := m.script(ctx, "file.sh", strings.NewReader(b.unit), "/etc/systemd/system/pinion.service"); err != nil {
			return err
		}
	}
	return examine(ctx, m)
}

// examine fails with what the machine lacks to be a host.
func examine(ctx context.Context, m *machine) error {
	out, err := m.run(ctx, "pinion doctor -o json || :", nil)
	if err != nil {
		return err
	}
	var found struct {
		Findings []struct{ Check, Level, Found, Do string }
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("`pinion doctor` says nothing that can be read: %w", err)
	}
	var failed []error
	for _, f := range found.Findings {
		if f.Level == "failed" {
			failed = append(failed, fmt.Errorf("%s: %s\n   -> %s", f.Check, f.Found, f.Do))
		}
	}
	return errors.Join(failed...)
}

// each works on machines at the same time. The errors are all that there are, each with its machine.
func (b *bootstrap) each(ctx context.Context, which func(i int) bool, work func(ctx context.Context, i int) error) error {
	failed := make([]error, len(b.machines))
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	for i := range b.machines {
		if which == nil || which(i) {
			group.Go(func() error {
				if err := work(ctx, i); err != nil {
					failed[i] = b.of(i, err)
				}
				return nil
			})
		}
	}
	_ = group.Wait()
	return errors.Join(failed...)
}

func (b *bootstrap) of(i int, err error) error {
	return fmt.Errorf("%s: %s", b.machines[i].name, format.Plain(err.Error()))
}

func (b *bootstrap) printFor(i int, text string) {
	fmt.Fprintf(b.progress, "%s: %s\n", b.machines[i].name, format.Plain(text))
}

package host

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"pinion/api/cli"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/api/rest"
	"pinion/packaging/doctor"
)

// Doctor checks this machine and prints what it finds, and with c.Fix runs the commands that mend it and checks once more. The error is
// exit.ErrSilent when a check has failed.
func Doctor(ctx context.Context, out io.Writer, c cli.DoctorConfig) error {
	pinion, err := client.New(client.Config{Socket: filepath.Join(c.DataDir, "pinion.sock")})
	if err != nil {
		return err
	}
	host := &doctor.Host{
		DataDir: c.DataDir, Containerd: c.Containerd, RegistryConfig: c.RegistryConfig, Listen: c.Listen, Join: c.Join,
		MinFree: func(size int64) int64 { return diskDefaults(cli.DiskConfig{}, size).MinFree },
		Machine: doctor.ThisMachine(pinion),
	}
	found := doctor.Examine(ctx, host)
	var repairs []doctor.Repair
	switch {
	case c.Fix && c.DryRun:
		repairs = doctor.Fix(ctx, found, nil)
	case c.Fix:
		if repairs = doctor.Fix(ctx, found, doctor.RunCommand); len(repairs) > 0 {
			found = doctor.Examine(ctx, host)
		}
	}
	if err := printFindings(out, found, repairs, c); err != nil {
		return err
	}
	if doctor.Count(found, doctor.Failed) > 0 {
		return exit.Silent(exit.Failure)
	}
	return nil
}

// machineDoctor checks the machine of a host that runs, for clients of the pool.
type machineDoctor struct{ config cli.UpConfig }

// Examine is of rest.Doctor.
func (d machineDoctor) Examine(ctx context.Context) []rest.Finding {
	config := d.config
	pinion, err := client.New(client.Config{Socket: filepath.Join(config.DataDir, "pinion.sock")})
	if err != nil {
		return []rest.Finding{{Check: "pinion", Level: string(doctor.Failed), Found: err.Error(), Do: "run `sudo pinion doctor` on that host"}}
	}
	var all []rest.Finding
	for _, f := range doctor.Examine(ctx, &doctor.Host{
		DataDir: config.DataDir, Containerd: config.Containerd, RegistryConfig: config.RegistryConfig, Listen: config.Listen,
		MinFree: func(size int64) int64 { return diskDefaults(config.Disk, size).MinFree }, Machine: doctor.ThisMachine(pinion),
	}) {
		if f.Check == doctor.PoolCheck { // it is of all hosts, and each is asked
			continue
		}
		all = append(all, rest.Finding{Check: f.Check, Level: string(f.Level), Found: f.Found, Do: f.Do})
	}
	return all
}

// warnOfMachine makes the checks of `pinion up`, and logs what is not well.
func warnOfMachine(ctx context.Context, config cli.UpConfig, log *slog.Logger) []doctor.Finding {
	found := doctor.ExamineStart(ctx, &doctor.Host{DataDir: config.DataDir, Machine: doctor.ThisMachine(nil)}, strings.HasPrefix(config.GPUs.Source, "auto"))
	for _, f := range found {
		if f.Level != doctor.OK {
			log.Warn("pinion doctor: "+f.Check, "problem", f.Found, "action", f.Do)
		}
	}
	return found
}

// printFindings prints a line for each finding, with what to do below it, and one for each command that was run, or would be.
func printFindings(out io.Writer, found []doctor.Finding, repairs []doctor.Repair, c cli.DoctorConfig) error {
	failed, warnings := doctor.Count(found, doctor.Failed), doctor.Count(found, doctor.Warning)
	if c.JSON {
		return invocation.PrintJSON(out, struct {
			Findings []doctor.Finding `json:"findings"`
			Failed   int              `json:"failed"`
			Warnings int              `json:"warnings"`
			Repairs  []doctor.Repair  `json:"repairs,omitempty"` // with --fix
		}{found, failed, warnings, repairs})
	}
	var text strings.Builder
	for _, f := range found {
		fmt.Fprintf(&text, "%-7s  %-16s  %s\n", f.Level, f.Check, f.Found)
		if f.Do != "" {
			fmt.Fprintf(&text, "%-7s  %-16s  -> %s\n", "", "", f.Do)
		}
	}
	fmt.Fprintf(&text, "%d checks: %d failed, %d warnings\n", len(found), failed, warnings)
	for _, r := range repairs {
		fmt.Fprintln(&text, repairText(r, c.DryRun))
	}
	if c.Fix && len(repairs) == 0 {
		text.WriteString("nothing that a command of this machine mends\n")
	}
	_, err := io.WriteString(out, format.Plain(text.String())) // names and problems are other hosts' words
	return err
}

func repairText(r doctor.Repair, dryRun bool) string {
	switch {
	case dryRun:
		return "would run: " + r.Command()
	case r.Error != "":
		return fmt.Sprintf("run: %s: %s", r.Command(), r.Error)
	}
	return "run: " + r.Command()
}

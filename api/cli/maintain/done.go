package maintain

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"pinion/api/cli/format"
	"pinion/api/cli/gpus"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// bringBack makes a host schedulable again when its machine and its GPUs have passed. Otherwise the error says all that has not, and the host goes
// on draining.
func bringBack(ctx context.Context, inv *invocation.Invocation, host client.Host) error {
	if err := mayReturn(ctx, inv, host); err != nil {
		return err
	}
	devices, err := devicesToCheck(ctx, inv, host)
	if err != nil {
		return err
	}
	problems, err := machineProblems(ctx, inv, host)
	if err != nil {
		return err
	}
	problems = append(problems, gpuProblems(ctx, inv, devices)...)
	if len(problems) > 0 {
		return fmt.Errorf("host %s stays out of work: %w", host.Name, errors.Join(problems...))
	}
	if err := inv.Client.SetHostStatus(ctx, host.Cluster, host.ID, client.Active); err != nil {
		return err
	}
	_, err = fmt.Fprintf(inv.Out, "%s is active: its machine and %s have passed\n", host.Name, format.Plural(len(devices), "GPU"))
	return err
}

// mayReturn refuses a host that cannot be checked now.
func mayReturn(ctx context.Context, inv *invocation.Invocation, host client.Host) error {
	switch {
	case format.Unreachable(host) != "":
		return fmt.Errorf("host %s is %s: start pinion there, and try again", host.Name, format.Unreachable(host))
	case host.Status != client.Draining:
		return fmt.Errorf("host %s is not drained, so there is nothing to return: `pinion gpus check` checks GPUs of a host that works", host.Name)
	case host.GPUs.Problem != "":
		return fmt.Errorf("host %s does not see its GPUs: %s. `pinion doctor --on-host %s` says more", host.Name, format.Plain(host.GPUs.Problem), host.Name)
	}
	tasks, err := gpuTasks(ctx, inv, host.ID)
	if err == nil && len(tasks) > 0 {
		err = fmt.Errorf("host %s has %s with GPUs, which the check would wait for: `pinion host maintain %s` waits until they have ended", host.Name, format.Plural(len(tasks), "task"), host.Name)
	}
	return err
}

// devicesToCheck are the GPUs of a host that are not in quarantine, one MIG device for each GPU that is partitioned.
func devicesToCheck(ctx context.Context, inv *invocation.Invocation, host client.Host) (check []client.GPU, err error) {
	all, err := inv.Client.GPUs(ctx)
	if err != nil {
		return nil, err
	}
	parents := map[string]bool{}
	for i := range all {
		g := &all[i]
		switch {
		case g.HostID != host.ID:
			continue
		case g.Health == client.Quarantined:
			inv.Notef("%s/%s is in quarantine and stays there", host.Name, g.Number())
			continue
		case g.MIGDevice != nil && parents[g.MIGDevice.Parent]:
			continue
		case g.MIGDevice != nil:
			parents[g.MIGDevice.Parent] = true
		}
		check = append(check, *g)
	}
	return check, nil
}

// machineProblems is an error for each check of `pinion doctor` that has failed on the host.
func machineProblems(ctx context.Context, inv *invocation.Invocation, host client.Host) (problems []error, err error) {
	findings, err := client.ExamineHost(ctx, inv.Client, host.ID)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		if f.Level == client.FindingFailed {
			problems = append(problems, fmt.Errorf("%s: %s: %s", format.Plain(f.Check), format.Plain(f.Found), format.Plain(f.Do)))
		}
	}
	return problems, nil
}

// maxChecks bounds the GPUs that are checked at the same time.
const maxChecks = 16

// gpuProblems has the host check the GPUs. It returns an error for each that has not passed.
func gpuProblems(ctx context.Context, inv *invocation.Invocation, devices []client.GPU) (problems []error) {
	found := make([]error, len(devices))
	var checks errgroup.Group
	checks.SetLimit(maxChecks)
	for i := range devices {
		checks.Go(func() error {
			found[i] = gpus.Check(ctx, inv.Client, devices[i])
			return nil
		})
	}
	_ = checks.Wait()
	for _, problem := range found {
		if problem != nil {
			problems = append(problems, problem)
		}
	}
	return problems
}

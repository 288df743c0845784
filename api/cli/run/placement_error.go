package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// runTaskError adds advice to the error of a RunTask.
func (l *launcher) runTaskError(err error) error {
	var refused *client.APIError
	if !errors.As(err, &refused) {
		return err
	}
	if strings.Contains(refused.Message, "No Container Instances") {
		return exit.Errorf(exit.NotStarted, "%s", noHostText(l.request.cluster))
	}
	return err
}

// placementError explains why no task was placed, with what is free and what to do.
func (l *launcher) placementError(ctx context.Context, failures []client.Failure) error {
	if len(failures) == 0 {
		return errors.New("the host started no task and gave no reason; see its log")
	}
	first := failures[0]
	if l.request.selectsGPUs && l.request.gpus > 0 && slices.ContainsFunc(failures, func(f client.Failure) bool { return f.Reason == client.ReasonGPU }) {
		return l.selectedShortage(ctx, failures)
	}
	switch first.Reason {
	case client.ReasonGPU:
		gpus, err := l.inv.Client.GPUs(ctx)
		if err != nil || l.request.gpus == 0 { // of a share its refusal says all
			return failureError(first, "`pinion gpus` shows which are free")
		}
		if tasks := l.request.batch.count; l.request.scheduling.Gang && tasks > 1 && l.request.gpus > 0 {
			return errors.New(gangShortage(tasks, l.request.gpus, failures, gpus))
		}
		return errors.New(gpuShortage(l.request.gpus, failures, gpus))
	case client.ReasonCPU, client.ReasonMemory:
		return failureError(first, "`pinion hosts` shows what is free. Wait for tasks to end, stop some, or request less")
	case client.ReasonAgent:
		return failureError(first, "The host is not connected: check that pinion runs there (`pinion hosts`)")
	}
	return failureError(first, "`pinion hosts -o json` shows what the hosts have")
}

func failureError(f client.Failure, advice string) error {
	text := "no host can take the task: " + f.Reason
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	return fmt.Errorf("%s. %s", strings.TrimSuffix(text, "."), advice)
}

// gpuSupply is how many GPUs a host has, and how many of them are free.
type gpuSupply struct {
	hostID      string
	free, total int  // of whole ones
	mig         bool // it has MIG devices too, which a task gets that asks for their profile
}

// gpuShortage says what each considered host has of GPUs, and whether waiting can help at all.
func gpuShortage(wanted int, failures []client.Failure, gpus []client.GPU) string {
	supplies := gpuSupplies(failures, gpus)
	names, largest := invocation.GPUHosts(gpus), 0
	var each []string
	for _, s := range supplies {
		largest = max(largest, s.total)
		each = append(each, fmt.Sprintf("%s has %d of %d free", names[s.hostID], s.free, s.total))
	}
	advice := "Wait for a task to end or stop one (`pinion ps`), or request fewer"
	switch {
	case largest == 0 && slices.ContainsFunc(supplies, func(s gpuSupply) bool { return s.mig }):
		return fmt.Sprintf("%s: no host of the cluster has a whole GPU. Ask for MIG devices with --mig-profile: `pinion gpus` lists them", client.ReasonGPU)
	case largest == 0:
		return fmt.Sprintf("%s: no host of the cluster has a GPU that works. See `pinion gpus -o wide` and `pinion hosts -o json`", client.ReasonGPU)
	case wanted > largest:
		advice = fmt.Sprintf("A task runs on one host, and none has more than %d: request fewer", largest)
	}
	return fmt.Sprintf("%s: no host has %s free: %s. %s", client.ReasonGPU, format.Plural(wanted, "GPU"), strings.Join(each, ", "), advice)
}

// maxRefusals bounds the hosts of which selectedShortage tells.
const maxRefusals = 5

// selectedShortage tells, for a task that asks for certain GPUs, why each considered host refuses it.
func (l *launcher) selectedShortage(ctx context.Context, failures []client.Failure) error {
	gpus, err := l.inv.Client.GPUs(ctx)
	if err != nil {
		return failureError(failures[0], "`pinion gpus` shows which are free")
	}
	names := invocation.GPUHosts(gpus)
	var each []string
	for _, f := range failures {
		id := client.ResourceID(f.ARN)
		if line := cmp.Or(names[id], id) + ": " + f.Detail; !slices.Contains(each, line) {
			each = append(each, line)
		}
	}
	if more := len(each) - maxRefusals; more > 0 {
		each = append(each[:maxRefusals], "and "+format.Plural(more, "more host"))
	}
	return fmt.Errorf("%s: %s. Wait for a task to end or stop one (`pinion ps`), or ask for other GPUs", client.ReasonGPU, strings.Join(each, "; "))
}

// gangShortage says for how many tasks of a gang there is room by GPUs, now and ever.
func gangShortage(tasks, wanted int, failures []client.Failure, gpus []client.GPU) string {
	names, now, ever := invocation.GPUHosts(gpus), 0, 0
	var each []string
	for _, s := range gpuSupplies(failures, gpus) {
		now, ever = now+s.free/wanted, ever+s.total/wanted
		each = append(each, fmt.Sprintf("%s has %d of %d free", names[s.hostID], s.free, s.total))
	}
	text := fmt.Sprintf("%s: the %d tasks of the gang start together, with %s each, and there is room for %d of them: %s", client.ReasonGPU, tasks,
		format.Plural(wanted, "GPU"), now, strings.Join(each, ", "))
	if ever < tasks {
		return fmt.Sprintf("%s. Also when nothing else runs there is room for %d: request fewer", text, ever)
	}
	return text + ". Without --no-wait the gang waits in the queue"
}

// gpuSupplies counts the GPUs of the hosts that failures name, in the order of the GPUs.
func gpuSupplies(failures []client.Failure, gpus []client.GPU) []gpuSupply {
	considered := map[string]bool{}
	for _, f := range failures {
		considered[client.ResourceID(f.ARN)] = true
	}
	var supplies []gpuSupply
	for _, g := range gpus {
		if !considered[g.HostID] {
			continue
		}
		at := slices.IndexFunc(supplies, func(s gpuSupply) bool { return s.hostID == g.HostID })
		if at < 0 {
			at = len(supplies)
			supplies = append(supplies, gpuSupply{hostID: g.HostID})
		}
		if g.MIGDevice != nil {
			supplies[at].mig = true
			continue
		}
		supplies[at].total++
		if g.Free() {
			supplies[at].free++
		}
	}
	return supplies
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// runTaskError adds what to do to a RunTask that was refused as a whole.
func (r *runner) runTaskError(err error) error {
	var refused *client.APIError
	if !errors.As(err, &refused) {
		return err
	}
	if strings.Contains(refused.Message, "No Container Instances") {
		return fmt.Errorf("cluster %s has no host: %w. Start one with `sudo pinion up --cluster %s`", r.cluster, err, r.cluster)
	}
	if refused.Type == "ClusterNotFoundException" {
		return fmt.Errorf("there is no cluster %s: %w. `pinion hosts` shows the clusters that have hosts", r.cluster, err)
	}
	return err
}

// placementError tells why a task found no place, what there is, and what to do.
func (r *runner) placementError(ctx context.Context, failures []client.Failure) error {
	if len(failures) == 0 {
		return errors.New("the host started no task and gave no reason; its log may tell more")
	}
	first := failures[0]
	switch first.Reason {
	case spec.ReasonGPU:
		gpus, err := r.client.GPUs(ctx)
		if err != nil {
			return failureError(first, "`pinion gpus` shows which are free")
		}
		return errors.New(gpuShortage(r.gpus, failures, gpus))
	case spec.ReasonCPU, spec.ReasonMemory:
		return failureError(first, "`pinion hosts` shows what is free. Wait for tasks to end, stop some, or ask for less")
	case spec.ReasonAgent:
		return failureError(first, "The host is not heard of: see that pinion runs there (`pinion hosts`)")
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
	free, total int
}

// gpuShortage says what each considered host has of GPUs, and whether waiting can help at all.
func gpuShortage(wanted int, failures []client.Failure, gpus []client.GPU) string {
	supplies := gpuSupplies(failures, gpus)
	names, largest := gpuHosts(gpus), 0
	var each []string
	for _, s := range supplies {
		largest = max(largest, s.total)
		each = append(each, fmt.Sprintf("%s has %d of %d free", names[s.hostID], s.free, s.total))
	}
	advice := "Wait for a task to end or stop one (`pinion ps`), or ask for fewer"
	switch {
	case largest == 0:
		return fmt.Sprintf("%s: no host of the cluster has a GPU that works. `pinion gpus -o wide` and `pinion hosts -o json` tell why", spec.ReasonGPU)
	case wanted > largest:
		advice = fmt.Sprintf("A task runs on one host, and none has more than %d: ask for fewer", largest)
	}
	return fmt.Sprintf("%s: no host has %s free: %s. %s", spec.ReasonGPU, plural(wanted, "GPU"), strings.Join(each, ", "), advice)
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
		supplies[at].total++
		if g.Free() {
			supplies[at].free++
		}
	}
	return supplies
}

package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/api/client"
	"pinion/raftfsm/spec"
)

// Index is the index of a task in its array, or its rank in a gang; empty when it has none.
func Index(task client.Task) string {
	return cmp.Or(task.Attribute("pinion.array-index"), task.Attribute("pinion.rank"))
}

// TaskName is the definition of a task, with its index: "trainer:3", "worker:1[12]".
func TaskName(task client.Task) string {
	name := client.ResourceID(task.Definition)
	if index := Index(task); index != "" {
		name += "[" + index + "]"
	}
	return name
}

// TaskNames are what people may call a task: its definition, with and without revision and index, the --name that it was run with, and the
// names of its containers.
func TaskNames(task client.Task) []string {
	name := TaskName(task)
	family, _, _ := strings.Cut(name, ":")
	names := []string{name, client.ResourceID(task.Definition), family, strings.TrimPrefix(family, "run-")}
	for _, c := range task.Containers {
		names = append(names, c.Name)
	}
	return names
}

// Root is who ran a task, or keeps it, when no access key did.
const Root = "root"

// Key is the owner of the access key that ran a task, or Root.
func Key(task client.Task) string { return cmp.Or(task.Attribute("pinion.key"), Root) }

// Ports are the published ports of a task, as docker writes them: "8080->80/tcp"; of one with an address of its own that.
func Ports(task client.Task) string {
	var ports []string
	for _, c := range task.Containers {
		for _, i := range c.NetworkInterfaces {
			if !slices.Contains(ports, i.Address) {
				ports = append(ports, i.Address)
			}
		}
		for _, b := range c.Bindings {
			host, container := cmp.Or(b.HostPortRange, strconv.Itoa(b.HostPort)), cmp.Or(b.ContainerPortRange, strconv.Itoa(b.ContainerPort))
			ports = append(ports, fmt.Sprintf("%s->%s/%s", host, container, cmp.Or(b.Protocol, "tcp")))
		}
	}
	return strings.Join(ports, ", ")
}

// SortByIndex orders tasks that were started together by array index and rank.
func SortByIndex(tasks []client.Task) {
	slices.SortStableFunc(tasks, func(a, b client.Task) int { return CompareIndex(&a, &b) })
}

// CompareIndex is the order of two tasks that were started together.
func CompareIndex(a, b *client.Task) int {
	for _, attribute := range []string{"pinion.array-index", "pinion.rank"} {
		if order := cmp.Compare(a.IntAttribute(attribute), b.IntAttribute(attribute)); order != 0 {
			return order
		}
	}
	return 0
}

// ExitSummary is how a stopped task ended: the exit codes of its containers, and the reason when that says more.
func ExitSummary(task client.Task) string {
	if !task.Stopped() {
		return ""
	}
	var codes []string
	for _, c := range task.Containers {
		if c.ExitCode != nil {
			codes = append(codes, strconv.Itoa(*c.ExitCode))
		}
	}
	return strings.TrimSpace(strings.Join(codes, ",") + " " + StopReason(task))
}

// StopReason is why a task did not simply run to its end, empty when it did.
func StopReason(task client.Task) string {
	for _, c := range task.Containers {
		if c.Reason != "" {
			return c.Reason
		}
	}
	exited := slices.ContainsFunc(task.Containers, func(c client.Container) bool { return c.ExitCode != nil })
	if task.StopCode == "EssentialContainerExited" && exited {
		return "" // a task that was given up with its host has no exit code, and its reason names the host
	}
	return Options(task.StoppedReason)
}

// StatusCounts counts tasks by status: "3 RUNNING, 5 STOPPED".
func StatusCounts(tasks []client.Task) string {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[task.Status]++
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
	}
	return strings.Join(parts, ", ")
}

// Outcome is how a stopped task ended, in the words of the history: succeeded, failed, or stopped by somebody, the pool or a preemption. A
// task that the pool stopped at its time limit, or because what it waited for failed, has failed.
func Outcome(task client.Task) string {
	pool := spec.Task{StopCode: spec.StopCode(task.StopCode), StoppedReason: task.StoppedReason}
	switch {
	case pool.StoppedAsFailed():
		return "failed"
	case pool.StopCode == spec.StopUserInitiated || pool.StopCode == spec.StopScheduler || pool.StopCode == spec.StopPreempted:
		return "stopped"
	case Succeeded(task):
		return "succeeded"
	}
	return "failed"
}

// Outcomes counts tasks by what people ask for first: "1 failed, 3 succeeded, 2 RUNNING".
func Outcomes(tasks []client.Task) string {
	var parts []string
	stopped := func(t client.Task) bool { return t.Stopped() }
	count := map[string]int{}
	for _, task := range tasks {
		if stopped(task) {
			count[Outcome(task)]++
		}
	}
	for _, outcome := range []string{"failed", "stopped", "succeeded"} {
		if n := count[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if rest := StatusCounts(slices.DeleteFunc(slices.Clone(tasks), stopped)); rest != "" {
		parts = append(parts, rest)
	}
	return strings.Join(parts, ", ")
}

// Succeeded reports whether all containers of a stopped task exited with 0.
func Succeeded(task client.Task) bool {
	for _, c := range task.Containers {
		if c.ExitCode == nil || *c.ExitCode != 0 {
			return false
		}
	}
	return len(task.Containers) > 0
}

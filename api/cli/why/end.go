package why

import (
	"cmp"
	"fmt"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

// end is how a stopped task ended.
type end struct {
	text        string // follows the name of the task: "failed: container c exited with code 3"
	advice      string // what to do; empty when there is nothing to say
	failed      bool
	container   string // that failed first; empty when none did
	outOfMemory bool
}

func (e end) String() string { return strings.TrimRight(e.text, ".") }

// addLimit adds the memory limit that a container was killed for; 0 is not known.
func (e *end) addLimit(mib int64) {
	if mib > 0 {
		e.text = strings.Replace(e.text, "its memory limit", "its memory limit of "+format.MiB(mib), 1)
	}
}

// preempted begins the stopped reason of a task that was stopped for another one, and not by 'pinion task requeue' or a drain.
const preempted = "Preempted by"

// killed is the exit code of what SIGKILL ended.
const killed = 128 + 9

// endOf explains how a task ended.
func endOf(task client.Task) end {
	container := failedContainer(task)
	e := end{failed: true, container: container.Name}
	reason := strings.TrimRight(task.StoppedReason, ".")
	switch {
	case task.StopCode == "SpotInterruption":
		e.failed, e.text = false, "was stopped, and its work queues again: "+reason
		if strings.HasPrefix(reason, preempted) {
			e.text = "gave way to a task of higher priority: " + reason
			e.advice = "A preemptible task waits in the queue again; without --preemptible, or with a higher --priority, it runs on."
		} else if strings.Contains(reason, spec.TagIdleTimeout) {
			e.advice = "Tasks with --idle-action requeue give back GPUs that do nothing, and wait for others; with a longer --idle-timeout they keep them for longer."
		}
	case task.StopCode == "UserInitiated":
		e.failed, e.text = false, "was stopped: "+strings.TrimPrefix(cmp.Or(reason, "no reason was given"), "stopped ")
		if container.ExitCode != nil && *container.ExitCode == killed {
			e.text += fmt.Sprintf("; container %s was killed (exit code %d)", container.Name, killed)
			e.advice = "A container is killed that goes on after SIGTERM for longer than its stop timeout (--stop-timeout, 30s), and at once by `pinion stop --force`."
		}
	case task.StopCode == "ServiceSchedulerInitiated":
		if e.failed = format.Outcome(task) == "failed"; !e.failed {
			e.text = "was stopped by the pool: " + reason
			if strings.Contains(reason, spec.TagIdleTimeout) {
				e.advice = "With a longer --idle-timeout, or none, it keeps GPUs that do nothing for longer."
			}
			break
		}
		e.container, e.text = "", "failed: "+strings.NewReplacer("The task reached", "it reached", "It waited", "it waited").Replace(reason)
		if strings.Contains(reason, spec.TagTimeLimit) {
			e.container = container.Name // its last lines say how far it came
			e.advice = "Give it more time with --time-limit."
		}
	case container.Name != "" && container.ExitCode == nil:
		e.text = "failed: " + startFailure(container)
		e.advice = startAdvice(container)
	case container.Name != "":
		e.exited(container)
	case task.StopCode != "EssentialContainerExited":
		e.text = "failed: " + reason
	case !ended(task):
		e.text = "failed: " + reason
		e.advice = "A task with --retries N is started again on another host when its host is lost."
	default:
		e.failed, e.text = false, "succeeded"
		if ran := task.StoppedAt.Sub(task.StartedAt.Time); !task.StartedAt.IsZero() && ran > 0 {
			e.text += ": it ran for " + format.Age(ran)
		}
	}
	return e
}

// exited explains a container that ended with an exit code.
func (e *end) exited(c client.Container) {
	code := *c.ExitCode
	if strings.HasPrefix(c.Reason, spec.OutOfMemory) {
		e.outOfMemory = true
		e.text = fmt.Sprintf("failed: container %s was killed because it reached its memory limit (exit code %d)", c.Name, code)
		e.advice = "Give it more with --memory, or `memory` in the task definition."
		return
	}
	e.text = fmt.Sprintf("failed: container %s exited with code %d", c.Name, code)
	if signal, known := signals[code-128]; known {
		e.text += fmt.Sprintf(" (signal %s)", signal)
	}
	if c.Reason != "" {
		e.text += ": " + c.Reason
	}
	e.advice = exitAdvice[code]
}

// failedContainer is the first container that failed; the zero value when none did.
func failedContainer(task client.Task) client.Container {
	for _, c := range task.Containers {
		if c.ExitCode != nil && *c.ExitCode != 0 || c.ExitCode == nil && c.Reason != "" {
			return c
		}
	}
	return client.Container{}
}

// ended reports whether a container of the task ended by itself.
func ended(task client.Task) bool {
	for _, c := range task.Containers {
		if c.ExitCode != nil {
			return true
		}
	}
	return false
}

// startFailure says why a container did not start, or that its end is not known. ECS's reasons begin with a kind of error.
func startFailure(c client.Container) string {
	kind, rest, found := strings.Cut(c.Reason, ": ")
	switch {
	case found && kind == "CannotPullContainerError":
		return fmt.Sprintf("image %s could not be pulled: %s", c.Image, rest)
	case found && strings.HasSuffix(kind, "Error"):
		return fmt.Sprintf("container %s could not be started: %s (%s)", c.Name, rest, kind)
	}
	return fmt.Sprintf("container %s: %s", c.Name, c.Reason)
}

// startAdvice is what to do about a container that did not start.
func startAdvice(c client.Container) string {
	reason := c.Reason
	switch {
	case strings.HasPrefix(reason, "CannotPullContainerError"):
		return "Check the name and the tag. A private registry needs a login on the host: pinion up --registry-config."
	case strings.Contains(reason, "executable file not found"), strings.Contains(reason, "no such file or directory") && strings.Contains(reason, "exec"):
		if c.Image == "pinion/self" {
			return "The built-in image has no such program: pinion is the only one. Take an image that has it."
		}
		return "The image has no such program: check the command."
	}
	return ""
}

// memoryUse is a sentence about how much memory the containers used at most, as far as that is known.
func memoryUse(task client.Task) string {
	var used []string
	for _, c := range task.Containers {
		if c.PeakMemory > 0 {
			used = append(used, c.Name+" "+format.Bytes(c.PeakMemory))
		}
	}
	if len(used) == 0 {
		return ""
	}
	if len(task.Containers) == 1 {
		return fmt.Sprintf(" It used at most %s of memory.", format.Bytes(task.Containers[0].PeakMemory))
	}
	return fmt.Sprintf(" Its containers used at most this much memory: %s.", strings.Join(used, ", "))
}

// gpuUse is a sentence about how the task used its GPUs, as far as that was measured.
func gpuUse(task client.Task) string {
	var sum client.GPUTotals
	for _, c := range task.Containers {
		if totals := c.GPUTotals; totals != nil {
			sum.MeasuredSeconds, sum.BusySeconds = sum.MeasuredSeconds+totals.MeasuredSeconds, sum.BusySeconds+totals.BusySeconds
			sum.Joules, sum.PeakMemoryMiB = sum.Joules+totals.Joules, max(sum.PeakMemoryMiB, totals.PeakMemoryMiB)
		}
	}
	if sum.MeasuredSeconds <= 0 {
		return ""
	}
	text := fmt.Sprintf(" Its GPUs computed for %d%% of the time", (100*sum.BusySeconds+sum.MeasuredSeconds/2)/sum.MeasuredSeconds)
	if sum.PeakMemoryMiB > 0 {
		text += fmt.Sprintf(", with at most %s of memory in use", format.MiB(sum.PeakMemoryMiB))
	}
	if sum.Joules > 0 {
		text += fmt.Sprintf(", and needed %.2g kWh", float64(sum.Joules)/3.6e6)
	}
	return text + "."
}

// signals are the names of the signals that end processes.
var signals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
}

// exitAdvice is what to do about exit codes that mean the same everywhere.
var exitAdvice = map[int]string{
	126: "A shell found the command and may not execute it: check its mode.",
	127: "A shell did not find the command: check its name and PATH.",
	134: "The program aborted itself; its last lines say why.",
	139: "The program accessed memory that it does not have: a bug in it or in a library.",
}

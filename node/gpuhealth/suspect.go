package gpuhealth

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/gpu"
)

// suspectAfter is the number of tasks in a row whose failure makes a GPU suspect.
const suspectAfter = 3

// failure is a task that has failed.
type failure struct {
	task, definition string
	elsewhere        bool
}

// Workload is a task that has GPUs.
type Workload struct {
	TaskID     string
	Definition string   // family:revision
	GPUs       []string // UUIDs
}

// SharesWith reports whether both have a GPU.
func (w Workload) SharesWith(other Workload) bool {
	return slices.ContainsFunc(w.GPUs, func(uuid string) bool { return slices.Contains(other.GPUs, uuid) })
}

// TaskEnd is the end of a task with GPUs that nobody has stopped.
type TaskEnd struct {
	Workload
	Failed bool
	// Elsewhere reports whether a task of its definition runs on other GPUs of this host: then the definition is not at fault.
	Elsewhere bool
}

// AddTaskEnd counts tasks that fail. A GPU on which three have failed one after the other is suspect, if they are of three definitions, or if
// others of their definition run well: a program that never works says nothing about GPUs.
func (r *Record) AddTaskEnd(end TaskEnd, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uuid := range end.GPUs {
		if !end.Failed {
			delete(r.failures, uuid)
			continue
		}
		r.failures[uuid] = addTelling(r.failures[uuid], failure{end.TaskID, end.Definition, end.Elsewhere})
		if failed := r.failures[uuid]; len(failed) == suspectAfter && r.sick[uuid] == nil {
			why := reason(failed)
			r.log.Warn("a GPU is suspect", "gpu", uuid, "reason", why)
			r.add(uuid, condition{Health: gpu.Suspect, Problem: why, Since: now})
		}
	}
}

// addTelling adds a failure that says something about the GPU: not one of a definition that has failed there before and may fail everywhere, nor
// one that is told again after a restart of the agent.
func addTelling(failed []failure, f failure) []failure {
	known := func(old failure) bool { return old.task == f.task || old.definition == f.definition && !f.elsewhere }
	if len(failed) == suspectAfter || slices.ContainsFunc(failed, known) {
		return failed
	}
	return append(failed, f)
}

func reason(failed []failure) string {
	names := make([]string, len(failed))
	for i, f := range failed {
		names[i] = fmt.Sprintf("%s of %s", f.task, f.definition)
	}
	return fmt.Sprintf("%d tasks have failed on it one after the other: %s", len(failed), strings.Join(names, ", "))
}

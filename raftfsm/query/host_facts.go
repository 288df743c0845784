package query

import (
	"pinion/raftfsm/spec"
)

// HostFacts are all that an expression can ask of a host.
type HostFacts struct {
	Host      *spec.Host
	Connected bool         // heard of lately
	Tasks     []*spec.Task // of the host; needed only where ReadsTasks says so
}

// ReadsTasks says whether the expression depends on Facts.Tasks.
func (e *Expr) ReadsTasks() bool { return e.tasks }

// Match says whether the expression selects the host.
func (e *Expr) Match(f HostFacts) bool { return e.root.match(f) }

// Why says, for people, which part of the expression does not select the host, and what the host has instead. It is ""
// for a host that Match accepts.
func (e *Expr) Why(f HostFacts) string {
	if e.root.match(f) {
		return ""
	}
	return e.root.why(f)
}

// String is the expression in its plainest form. Parsed again it is the same expression.
func (e *Expr) String() string { return e.root.text() }

// Count is the number of the host's tasks of the group that are meant to run. A task that was asked to stop does not
// count any more, as on ECS.
func (f HostFacts) Count(group string) int {
	n := 0
	for _, task := range f.Tasks {
		if task.Group == group && isActive(task) {
			n++
		}
	}
	return n
}

func isActive(t *spec.Task) bool {
	return t.DesiredStatus == spec.Running && t.LastStatus != spec.Stopped
}

// groups of the tasks that are meant to run, each once, in the order of the tasks.
func (f HostFacts) groups() []string {
	var groups []string
	seen := map[string]bool{}
	for _, task := range f.Tasks {
		if isActive(task) && !seen[task.Group] {
			seen[task.Group] = true
			groups = append(groups, task.Group)
		}
	}
	return groups
}

// running is the host's runningTasksCount as DescribeContainerInstances shows it.
func (f HostFacts) running() int64 {
	var n int64
	for _, task := range f.Tasks {
		if task.LastStatus == spec.Running {
			n++
		}
	}
	return n
}

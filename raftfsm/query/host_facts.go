package query

import (
	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// HostFacts holds the properties of a host that an expression can refer to.
type HostFacts struct {
	Host      *spec.Host
	Connected bool         // has a recent heartbeat
	Tasks     []*spec.Task // of the host; needed only when ReadsTasks returns true
	GPU       *gpu.Device  // whose attributes are compared (gpu.IsAttribute); nil: those of the host
}

// ReadsTasks reports whether the expression depends on HostFacts.Tasks.
func (e *Expr) ReadsTasks() bool { return e.tasks }

// ReadsGPUs reports whether the expression compares an attribute that each GPU has of its own (gpu.IsAttribute).
func (e *Expr) ReadsGPUs() bool { return e.gpus }

// attribute is the value of an attribute of the host, or of the GPU.
func (f HostFacts) attribute(name string) (value string, carried bool) {
	if f.GPU != nil && gpu.IsAttribute(name) {
		return f.GPU.Attribute(name)
	}
	return f.Host.Attribute(name)
}

// Match reports whether the expression selects the host.
func (e *Expr) Match(f HostFacts) bool { return e.root.match(f) }

// Why explains to people which part of the expression does not select the host, and the host's actual value. It is "" for a
// host that Match accepts.
func (e *Expr) Why(f HostFacts) string {
	if e.root.match(f) {
		return ""
	}
	return e.root.why(f)
}

// String returns the expression in canonical form. Parsing it gives the same expression.
func (e *Expr) String() string { return e.root.text() }

// Count is the number of the host's tasks of the group whose desired status is RUNNING. A task that was asked to stop does
// not count any more, as on ECS.
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

// groups lists the groups of tasks whose desired status is RUNNING, each once, in the order of the tasks.
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

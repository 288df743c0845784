package change

import "pinion/raftfsm/spec"

// AffectsRouting reports whether the Routing may be another one after an object has changed; nil is no object. What comes in masses and cannot
// matter is left out: tasks without a service, and what hosts have.
func AffectsRouting(before, after any) bool {
	switch after := after.(type) {
	case *spec.Task:
		return after.Service != nil
	case *spec.Host:
		before, _ := before.(*spec.Host)
		return before == nil || before.Address != after.Address || before.Lost() != after.Lost() || before.TaskNetwork != after.TaskNetwork
	}
	return true
}

package consensus

import (
	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/taskset"
)

// checkMemory refuses a command that adds to what users have in the state, while check does; see Config.CheckMemory. Counts of tasks and revisions do not
// bound the bytes that these have, and every server holds all of them in memory.
func checkMemory(check func(*raftfsm.View) error, view *raftfsm.View, c raftfsm.Command) error {
	if check == nil || !growsState(c) {
		return nil
	}
	return check(view)
}

// growsState reports whether a command records something for a user that was not there before, or makes it larger. What stops, deletes and
// replaces goes on, and so does what the pool records of itself.
func growsState(c raftfsm.Command) bool {
	switch c := c.(type) {
	case raftfsm.RegisterDefinition, raftfsm.LaunchTasks, raftfsm.CreateService, raftfsm.CreateCluster, raftfsm.Wrapped[loggroup.Create], raftfsm.Wrapped[alarm.Put],
		raftfsm.Wrapped[taskset.Create]:
		return true
	case raftfsm.UpdateService:
		return c.Change.Revision != nil
	case raftfsm.StepService:
		return len(c.Starts) > 0
	case raftfsm.Wrapped[scaling.ChangeTarget]:
		change := c.Command.Change
		return change.PutPolicy != nil || change.PutAction != nil || change.Register != nil
	case raftfsm.SetTags:
		return len(c.Put) > 0
	}
	return false
}

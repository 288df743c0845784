// Package gpufault has the rules for tasks on a GPU that fails.
package gpufault

import (
	"cmp"
	"fmt"
	"time"

	"pinion/gpu"
)

// Setting is the setting of a cluster that says what becomes of its tasks on a GPU that fails: a Policy.
const Setting = "gpuFaults"

// Policy is the rule for tasks on a GPU that fails. The zero value is End.
type Policy string

// The policies.
const (
	End  Policy = "end"  // tasks whose results are lost end; others run on until they end by themselves
	Keep Policy = "keep" // no task ends
	Move Policy = "move" // as End, and the others leave the GPU too
)

// Policies are the values of Setting, the default first.
var Policies = []string{string(End), string(Keep), string(Move)}

// minStay is for how long a task is not moved that has just come: a host may say again and again that its GPUs have failed, and are well.
const minStay = 30 * time.Second

// Failed reports whether somebody has to reset, boot or exchange a GPU before it gets a task, as its host knows. One that may be well, or that an
// administrator keeps from new tasks, has not failed.
func Failed(d gpu.Device) bool { return d.Health.RecoveryAction() != "" }

// Find is the first of the GPUs that has failed. False when there is none.
func Find(all gpu.Inventory, uuids []string) (d gpu.Device, failed bool) {
	for _, uuid := range uuids {
		if d, _ := all.Device(uuid); Failed(d) {
			return d, true
		}
	}
	return d, false
}

// MovesFrom returns the reason why a task that was started at a moment has to leave its GPUs, and the earliest moment for that. The reason is empty when it stays, as one
// does that has not started: its host starts it or ends it.
func (p Policy) MovesFrom(all gpu.Inventory, uuids []string, started time.Time) (reason string, from time.Time) {
	if p != Move || started.IsZero() {
		return "", from
	}
	d, failed := Find(all, uuids)
	if !failed {
		return "", from
	}
	return fmt.Sprintf("GPU %s is %s: %s (the tasks of this cluster leave such a GPU: setting %s)", d.UUID, d.Health, cmp.Or(d.Problem, d.Health.RecoveryAction()), Setting), started.Add(minStay)
}

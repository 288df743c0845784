package dispatch

import (
	"encoding/json"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Bounds on what a host says of itself and of its tasks, which every server of the pool writes down. A host stays far below them; root of an
// agent could otherwise fill the disks of the servers.
const (
	maxHostBytes   = 256 << 10 // of a host as JSON; one with 16 GPUs has some 30 KiB
	maxTextBytes   = 4 << 10   // of each text in a report
	maxTaskIDBytes = 64
	maxBindings    = 256     // of a container
	maxCapacity    = 1 << 40 // CPU units or MiB of a host: sums over thousands of hosts stay whole numbers
)

// checkHost refuses a description of a host that is too large to be recorded, or that no machine fits.
func checkHost(h *spec.Host) error {
	if min(h.CPU, h.MemoryMiB) < 0 || max(h.CPU, h.MemoryMiB) > maxCapacity {
		return fmt.Errorf("host %s says that it has %d CPU units and %d MiB, which no machine has", h.ID, h.CPU, h.MemoryMiB)
	}
	text, err := json.Marshal(h)
	if err == nil && len(text) > maxHostBytes {
		err = fmt.Errorf("host %s describes itself in %d KiB, at most %d are recorded: give it fewer attributes", h.ID, len(text)>>10, maxHostBytes>>10)
	}
	return err
}

// boundedReports are the reports of a host as they are proposed: of a task that is not its own no more than which one it is, so that the
// state machine answers that it is unknown.
func boundedReports(view *raftfsm.View, hostID string, reports []spec.TaskReport) []spec.TaskReport {
	bounded := make([]spec.TaskReport, 0, len(reports))
	for _, r := range reports {
		if task := view.Task(r.TaskID); task != nil && task.HostID == hostID {
			bounded = append(bounded, boundedReport(r, len(task.Containers)))
		} else if len(r.TaskID) <= maxTaskIDBytes {
			bounded = append(bounded, spec.TaskReport{TaskID: r.TaskID, Status: spec.Pending})
		}
	}
	return bounded
}

// boundedReport is a report of a task with so many containers.
func boundedReport(r spec.TaskReport, containers int) spec.TaskReport {
	r.Status, r.StopCode, r.StoppedReason = spec.Status(clip(string(r.Status))), spec.StopCode(clip(string(r.StopCode))), clip(r.StoppedReason)
	given := r.Containers[:min(len(r.Containers), containers)]
	r.Containers = make([]spec.ContainerReport, 0, len(given))
	for _, c := range given {
		c.Name, c.Reason, c.RuntimeID, c.ImageDigest = clip(c.Name), clip(c.Reason), clip(c.RuntimeID), clip(c.ImageDigest)
		c.Status, c.Health = spec.Status(clip(string(c.Status))), spec.Health(clip(string(c.Health)))
		c.PeakMemory = max(c.PeakMemory, 0)
		c.Bindings = c.Bindings[:min(len(c.Bindings), maxBindings)]
		r.Containers = append(r.Containers, c)
	}
	return r
}

func clip(text string) string { return text[:min(len(text), maxTextBytes)] }

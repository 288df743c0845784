package raftfsm

import "pinion/raftfsm/spec"

// ReportTasks records a host's reports. A report is ignored when its task is unknown, belongs to another host, or is
// STOPPED while the host still runs it; the answer names the task, so the host can stop it. Status only advances. Answer:
// []string, the ids of those tasks.
type ReportTasks struct {
	HostID  string
	Reports []spec.TaskReport
}

func (c ReportTasks) apply(tx *tx) (any, error) {
	unknown := []string{}
	for _, report := range c.Reports {
		known := tx.Task(report.TaskID)
		if known == nil || known.HostID != c.HostID {
			unknown = append(unknown, report.TaskID)
			continue
		}
		if known.LastStatus == spec.Stopped {
			if report.Status != spec.Stopped {
				unknown = append(unknown, report.TaskID)
			}
			continue
		}
		if task := known.WithReport(report); task.LastStatus != known.LastStatus || !equal(task, known) { // most reports change the status
			task.Version++
			tx.put(tableTasks, task)
		}
	}
	return unknown, nil
}

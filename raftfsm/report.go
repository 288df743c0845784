package raftfsm

import "pinion/raftfsm/spec"

// ReportTasks takes a host's reports. A report of a task that is unknown, of another host, or STOPPED already while
// the host still has it, changes nothing; the task is named in the answer, so the host can stop it. Status only grows.
// Answer: []string, the ids of those tasks.
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
		if task := known.WithReport(report); task.LastStatus != known.LastStatus || !equal(task, known) { // most are of a new status
			task.Version++
			tx.put(tableTasks, task)
		}
	}
	return unknown, nil
}

package cloudwatchlogs

import (
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
)

// maxEndedStreams bounds the tasks of one group that are listed although the state has forgotten them: the last ones that ended.
const maxEndedStreams = 1000

// endedTask is a task that the state has forgotten, and that the caller may know of; nil when there is none.
func (c *Request) endedTask(id string) *spec.Task {
	if c.Ended == nil {
		return nil
	}
	found, err := c.Ended.Task(id)
	if err != nil {
		c.warn("Tasks that ended more than an hour ago cannot be looked up now: %v", err)
	}
	if found == nil || !c.Sees(found.Task.Cluster, found.Team()) {
		return nil
	}
	return &found.Task
}

// endedTasks are the tasks of a group's families that the state has forgotten, and whose logs may still be on their hosts.
func (c *Request) endedTasks(group string, sources map[string][]source) (tasks []*spec.Task) {
	if c.Ended == nil {
		return nil
	}
	kept := spec.LogRetention
	if known := loggroup.Find(c.View, group); known != nil && known.RetentionDays > 0 {
		kept = time.Duration(known.RetentionDays) * 24 * time.Hour
	}
	var families []string
	for definition := range sources {
		family, _, _ := strings.Cut(definition, ":")
		families = append(families, family)
	}
	slices.Sort(families)
	for _, family := range slices.Compact(families) {
		q := ended.Query{Family: family, Since: c.Now().Add(-kept), Allowed: c.Sees, Limit: maxEndedStreams - len(tasks)}
		for q.Limit > 0 {
			page, err := c.Ended.Find(q)
			if err != nil {
				c.warn("Streams of tasks that ended more than an hour ago are missing: %v", err)
				return tasks
			}
			for i := range page.Tasks {
				if t := &page.Tasks[i].Task; t.HostID != "" && c.View.Task(t.ID) == nil {
					tasks = append(tasks, t)
				}
			}
			if q.Page, q.Limit = page.Next, maxEndedStreams-len(tasks); q.Page == "" {
				break
			}
		}
		if q.Limit <= 0 {
			c.warn("Only the last %d streams of tasks that ended more than an hour ago are listed; others are read by their names.", maxEndedStreams)
			return tasks
		}
	}
	return tasks
}

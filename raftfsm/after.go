package raftfsm

import "slices"

// ReleaseTasks strikes out what tasks wait for, because it came true. A task that does not wait for it, or not any more,
// stays as it is. Answer: nil.
type ReleaseTasks struct{ Releases []Release }

// Release is what came true for one task.
type Release struct {
	TaskID string   `json:"taskId"`
	After  []string `json:"after"` // words of its Wait.After
}

func (c ReleaseTasks) apply(tx *tx) (any, error) {
	for _, release := range c.Releases {
		known := tx.Task(release.TaskID)
		if known == nil || !known.Held() {
			continue
		}
		wait := *known.Wait
		wait.After = slices.DeleteFunc(slices.Clone(wait.After), func(word string) bool { return slices.Contains(release.After, word) })
		if len(wait.After) == len(known.Wait.After) {
			continue
		}
		task := *known
		task.Wait = &wait
		task.Version++
		tx.put(tableTasks, &task)
	}
	return nil, nil
}

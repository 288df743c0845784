package raftfsm

import "slices"

// ResolveDependencies strikes out what tasks wait for, because it came true. A task that does not wait for it, or not any more,
// stays as it is. Answer: nil.
type ResolveDependencies struct{ Releases []Resolution }

// Resolution is what came true for one task.
type Resolution struct {
	TaskID string   `json:"taskId"`
	After  []string `json:"after"` // words of its Wait.After
}

func (c ResolveDependencies) apply(tx *tx) (any, error) {
	for _, release := range c.Releases {
		known := tx.Task(release.TaskID)
		if known == nil || !known.Blocked() {
			continue
		}
		wait := *known.Queue
		wait.UnmetDependencies = slices.DeleteFunc(slices.Clone(wait.UnmetDependencies), func(word string) bool { return slices.Contains(release.After, word) })
		if len(wait.UnmetDependencies) == len(known.Queue.UnmetDependencies) {
			continue
		}
		task := *known
		task.Queue = &wait
		task.Version++
		tx.put(tableTasks, &task)
	}
	return nil, nil
}

package raftfsm

// RecordDrained records that no proxy has a request in flight to tasks that are to stop, and none will have one again: their hosts stop them now.
// Tasks that are not asked to stop, or have stopped, are left alone. Answer: nil.
type RecordDrained struct{ Tasks []string }

func (c RecordDrained) apply(tx *tx) (any, error) {
	for _, id := range c.Tasks {
		known := tx.Task(id)
		if known == nil || !known.Drains() {
			continue
		}
		task := *known
		task.Drained = true
		task.Version++
		tx.put(tableTasks, &task)
	}
	return nil, nil
}

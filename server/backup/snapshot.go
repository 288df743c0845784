// Package backup saves the pool's state to snapshots: one a day on every server, and one whenever a person asks.
package backup

import (
	"io"
	"time"

	"pinion/raftfsm/credential"
)

// Info is the content of a snapshot in numbers.
type Info struct {
	Pool        string    `json:"pool"`
	CreatedAt   time.Time `json:"createdAt"` // of the pool
	Incarnation int       `json:"incarnation"`
	Index       uint64    `json:"index"` // of the last change in it
	Clusters    int       `json:"clusters"`
	Hosts       int       `json:"hosts"`
	Definitions int       `json:"definitions"`
	Tasks       int       `json:"tasks"`
	Keys        int       `json:"keys"`
	EndedTasks  *int      `json:"endedTasks,omitempty"` // of the history; absent: the snapshot has none
	NoHistory   string    `json:"noHistory,omitempty"`  // why the history could not be read when the snapshot was saved
}

// Inspect reads a snapshot to its end; count counts the tasks of a block of the history. raftfsm.ErrDamaged, raftfsm.ErrNewer.
func Inspect(r io.Reader, count func(block []byte) (int, error)) (Info, error) {
	state, past, err := Read(r)
	if err != nil {
		return Info{}, err
	}
	view := state.View()
	info := Info{
		Index: view.Index(), Incarnation: view.Settings().Incarnation, Clusters: len(view.Clusters()), Hosts: len(view.Hosts("")),
		Definitions: len(view.Definitions("")), Tasks: len(view.Tasks("")), Keys: len(credential.All(view)),
	}
	if pool := view.Pool(); pool != nil {
		info.Pool, info.CreatedAt = pool.ID, pool.CreatedAt
	}
	if past == nil {
		return info, nil
	}
	total := 0
	for block, err := range past.Blocks {
		n := 0
		if err == nil {
			n, err = count(block)
		}
		if err != nil {
			return Info{}, err
		}
		total += n
	}
	if info.NoHistory = past.Missing(); info.NoHistory == "" {
		info.EndedTasks = &total
	}
	return info, nil
}

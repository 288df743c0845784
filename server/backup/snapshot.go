// Package backup saves the pool's state to snapshots: one a day on every server, and one whenever a person asks.
package backup

import (
	"io"
	"time"

	"pinion/raftfsm"
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
}

// Inspect reads a snapshot to its end. raftfsm.ErrDamaged, raftfsm.ErrNewer.
func Inspect(r io.Reader) (Info, error) {
	state := raftfsm.NewState()
	if err := state.Restore(r); err != nil {
		return Info{}, err
	}
	view := state.View()
	info := Info{
		Index: view.Index(), Incarnation: view.Settings().Incarnation, Clusters: len(view.Clusters()), Hosts: len(view.Hosts("")),
		Definitions: len(view.Definitions("")), Tasks: len(view.Tasks("")), Keys: len(view.AccessKeys()),
	}
	if pool := view.Pool(); pool != nil {
		info.Pool, info.CreatedAt = pool.ID, pool.CreatedAt
	}
	return info, nil
}

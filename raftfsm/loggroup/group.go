// Package loggroup has the log groups of CloudWatch Logs that were created or deleted, how the state keeps them, and the commands that change
// them. Package raftfsm registers both.
package loggroup

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Group is a log group of CloudWatch Logs that was created. Others are there because task definitions name them.
type Group struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// RetentionDays is the time for which the logs of tasks in the group are kept after their last line; 0 is the hosts' default.
	RetentionDays int        `json:"retentionDays,omitempty"`
	Tags          []spec.Tag `json:"tags,omitempty"`
	// DeletedAt is the time of its last deletion, with all that had been written. A deleted group is remembered for spec.LogRetention, after
	// which nothing of it can be left on a host.
	DeletedAt time.Time `json:"deletedAt,omitzero" level:"1"`
}

// Exists reports whether the group was created, and not deleted since.
func (g *Group) Exists() bool { return !g.CreatedAt.IsZero() }

// Max bounds the log groups of a pool: every host knows those with a retention.
const Max = 1000

// ErrTooMany refuses log groups beyond Max.
var ErrTooMany = fmt.Errorf("a pool can have %d log groups that were created: delete some first, or leave it to the task definitions to name them", Max)

// retentions are the retentions in days that CloudWatch Logs has.
var retentions = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// Retentions lists the retentions in days that can be chosen.
func Retentions() []int { return slices.Clone(retentions) }

// ByName has every group, deleted ones too.
var ByName = table.By(func(g *Group) string { return g.Name })

// Find returns a log group that was created; nil when none has the name.
func Find(r table.Reader, name string) *Group {
	if known := recorded(r, name); known.Exists() {
		return known
	}
	return nil
}

// All lists the log groups that were created, by name.
func All(r table.Reader) []*Group { return slices.Collect(ByName.Matching(r, (*Group).Exists)) }

// DeletedAt returns the time of the last deletion of a log group, with all that had been written; zero: never, or so long ago that nothing is left.
func DeletedAt(r table.Reader, name string) time.Time { return recorded(r, name).DeletedAt }

// Deleted lists the log groups that were deleted, and perhaps created again, by name.
func Deleted(r table.Reader) []*Group {
	return slices.Collect(ByName.Matching(r, func(g *Group) bool { return !g.DeletedAt.IsZero() }))
}

// Expired visits the deleted groups of which nothing can be left.
func Expired(r table.Reader, before time.Time) iter.Seq[*Group] {
	gone := before.Add(-spec.LogRetention)
	return ByName.Matching(r, func(g *Group) bool { return !g.Exists() && g.DeletedAt.Before(gone) })
}

// recorded returns the record of a group, never nil.
func recorded(r table.Reader, name string) *Group {
	if known := ByName.Get(r, sortkey.Key{First: name}); known != nil {
		return known
	}
	return &Group{Name: name}
}

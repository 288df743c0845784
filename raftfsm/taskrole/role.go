// Package taskrole has the roles of tasks: what a task may do of the pool's API, with keys of its own that live for an hour. It has how the state keeps
// roles, the commands that change them, and what the id of such a key means. Package raftfsm registers the noun.
package taskrole

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/command"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Role is a set of rights for the tasks that have it.
type Role struct {
	Name      string           `json:"name"`
	ID        string           `json:"id"` // of this role and of no later one of its name: definitions mean the role that there was when they were registered
	Rights    accesskey.Rights `json:"rights"`
	CreatedAt time.Time        `json:"createdAt"`
}

// Max bounds the roles of a pool.
const Max = 1000

// ErrTooMany refuses roles beyond Max.
var ErrTooMany = fmt.Errorf("%w: a pool can have %d roles of tasks: remove some first (`pinion role rm`)", spec.ErrLimit, Max)

// ByName has every role.
var ByName = table.By(func(r *Role) string { return r.Name })

// Find returns the role of a name; nil when there is none.
func Find(r table.Reader, name string) *Role { return ByName.Get(r, sortkey.Key{First: name}) }

// All lists the roles by name.
func All(r table.Reader) []*Role { return slices.Collect(ByName.All(r)) }

// validName is IAM's.
var validName = lazyregexp.New(`^[\w+=,.@-]{1,64}$`)

// CheckName refuses what cannot be the name of a role, by the rule of IAM.
func CheckName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("the name of a role has 1 to 64 letters, digits and characters of _+=,.@-, not %.100q", name)
}

// ARN is the ARN of a role.
func ARN(name string) string { return "arn:aws:iam::" + spec.AccountID + ":role/" + name }

// Put records a role, or gives one of its name other rights, which the tasks that have it have at once. ErrTooMany. Answer: *Role.
type Put struct{ Role Role }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	if known := Find(tx, c.Role.Name); known != nil {
		c.Role.ID, c.Role.CreatedAt = known.ID, known.CreatedAt
	} else if len(All(tx)) >= Max {
		return nil, ErrTooMany
	}
	tx.Put(&c.Role)
	return &c.Role, nil
}

// Delete removes a role: the keys of its tasks end at once. spec.ErrNotFound. Answer: nil.
type Delete struct{ Name string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Name)
	if known == nil {
		return nil, fmt.Errorf("a role %q: %w", c.Name, spec.ErrNotFound)
	}
	tx.Remove(known)
	return nil, nil
}

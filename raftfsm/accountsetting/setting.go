// Package accountsetting has the account settings of ECS that were set, how the state keeps them, and the commands that change them. Package
// raftfsm registers both.
package accountsetting

import (
	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/table"
)

// Setting is an account setting of ECS that was set. Settings that were never set have defaults, which are not stored.
type Setting struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principal,omitempty"` // ARN of whom it is for; empty: everybody who chose nothing
}

// ByPrincipal has every setting.
var ByPrincipal = table.By(func(s *Setting) string { return s.Principal }).Then(func(s *Setting) string { return s.Name })

// Find returns a setting of the principal; the empty principal stands for everybody. Nil when it was not set.
func Find(r table.Reader, principal, name string) *Setting {
	return ByPrincipal.Get(r, sortkey.Key{First: principal, Second: name})
}

// ListOf lists the settings of the principal; the empty principal stands for everybody.
func ListOf(r table.Reader, principal string) []*Setting {
	return ByPrincipal.List(r, principal)
}

// Put records a setting and replaces the earlier value. Answer: *Setting.
type Put struct{ Setting Setting }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Setting.Principal, c.Setting.Name)
	if known != nil && *known == c.Setting {
		return known, nil
	}
	tx.Put(&c.Setting)
	return &c.Setting, nil
}

// Delete deletes a setting; a missing one is no error. Answer: nil.
type Delete struct{ Principal, Name string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	if known := Find(tx, c.Principal, c.Name); known != nil {
		tx.Remove(known)
	}
	return nil, nil
}

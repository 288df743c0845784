package spec

import (
	"cmp"
	"time"
)

// Pool is the identity of the Raft cluster itself: one record, written by the first start of the first host. A data
// directory of one pool is never opened by another.
type Pool struct {
	ID        string    `json:"id"` // 32 hex digits
	CreatedAt time.Time `json:"createdAt"`
	Settings  Settings  `json:"settings,omitzero"` // as given; View.Settings fills the defaults in
}

// Settings are what the whole pool goes by, whichever host leads. A zero field stands for its default.
type Settings struct {
	Servers       int           `json:"servers,omitempty"`       // servers wanted: 1, 3 or 5; default 3
	ReplaceAfter  time.Duration `json:"replaceAfter,omitempty"`  // a server gone for so long is replaced; default 5m
	TaskLostAfter time.Duration `json:"taskLostAfter,omitempty"` // a host silent for so long loses its tasks; default 60s
	// Incarnation is 1 at first and grows by one with each `pinion recover`. It never falls: hosts that have seen a
	// higher one have nothing to do with servers of a lower one.
	Incarnation int `json:"incarnation,omitempty"`
}

// Or is the settings with each zero field taken from other.
func (s Settings) Or(other Settings) Settings {
	return Settings{
		Servers:       cmp.Or(s.Servers, other.Servers),
		ReplaceAfter:  cmp.Or(s.ReplaceAfter, other.ReplaceAfter),
		TaskLostAfter: cmp.Or(s.TaskLostAfter, other.TaskLostAfter),
		Incarnation:   cmp.Or(s.Incarnation, other.Incarnation),
	}
}

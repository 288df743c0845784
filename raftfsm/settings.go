package raftfsm

import (
	"cmp"
	"fmt"
	"time"
)

// Settings are what the whole pool goes by, whichever host leads. A zero field stands for its default.
type Settings struct {
	Servers       int           `json:"servers,omitempty"`       // servers wanted: 1, 3 or 5; default 3
	ReplaceAfter  time.Duration `json:"replaceAfter,omitempty"`  // a server gone for so long is replaced; default 5m
	TaskLostAfter time.Duration `json:"taskLostAfter,omitempty"` // a host silent for so long loses its tasks; default 60s
	// Incarnation is 1 at first and grows by one with each `pinion recover`. It never falls: hosts that have seen a
	// higher one have nothing to do with servers of a lower one.
	Incarnation int `json:"incarnation,omitempty"`
}

var defaultSettings = Settings{Servers: 3, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Minute, Incarnation: 1}

// Settings are those in force, defaults filled in.
func (v *View) Settings() Settings {
	if pool := v.Pool(); pool != nil {
		return pool.Settings.or(defaultSettings)
	}
	return defaultSettings
}

// or fills the zero fields in.
func (s Settings) or(other Settings) Settings {
	return Settings{
		Servers:       cmp.Or(s.Servers, other.Servers),
		ReplaceAfter:  cmp.Or(s.ReplaceAfter, other.ReplaceAfter),
		TaskLostAfter: cmp.Or(s.TaskLostAfter, other.TaskLostAfter),
		Incarnation:   cmp.Or(s.Incarnation, other.Incarnation),
	}
}

// PutSettings changes the pool's settings; a zero field keeps what is in force. ErrNotFound before CreatePool; values
// out of range and an incarnation that would fall are refused. Answer: Settings, those in force.
type PutSettings struct{ Settings Settings }

func (c PutSettings) apply(tx *tx) (any, error) {
	known := tx.Pool()
	if known == nil {
		return nil, fmt.Errorf("pool: %w: it has not been created yet", ErrNotFound)
	}
	if err := c.Settings.check(tx.Settings().Incarnation); err != nil {
		return nil, err
	}
	pool := *known
	pool.Settings = c.Settings.or(known.Settings)
	if pool != *known {
		tx.put(tablePool, &pool)
	}
	return tx.Settings(), nil
}

func (s Settings) check(incarnation int) error {
	switch {
	case s.Servers != 0 && s.Servers != 1 && s.Servers != 3 && s.Servers != 5:
		return fmt.Errorf("the number of servers is 1, 3 or 5, not %d", s.Servers)
	case s.ReplaceAfter < 0 || s.TaskLostAfter < 0:
		return fmt.Errorf("a time of the settings is negative: %v, %v", s.ReplaceAfter, s.TaskLostAfter)
	case s.Incarnation != 0 && s.Incarnation < incarnation:
		return fmt.Errorf("incarnation %d is over, the pool is at %d: this server's data is from before a recovery", s.Incarnation, incarnation)
	}
	return nil
}

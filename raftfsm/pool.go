package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tablePool = register(noun[spec.Pool]{
		table: "pool", indexes: []*table.Index[spec.Pool]{poolIndex},
		commands:  []kind{kindOf[CreatePool](1, 1), kindOf[PutSettings](2, 1)},
		noChanges: "servers read the settings when they need them", noExpiry: "it is one record",
	})
	poolIndex = table.By(func(*spec.Pool) string { return "" })
)

var defaultSettings = spec.Settings{Servers: 3, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Minute, Incarnation: 1, Limits: spec.DefaultPoolLimits}

// Settings are those in force, defaults filled in.
func (v *View) Settings() spec.Settings {
	if pool := v.Pool(); pool != nil {
		return pool.Settings.Or(defaultSettings)
	}
	return defaultSettings
}

// PutSettings changes the pool's settings; a zero field keeps what is in force. ErrNotFound before CreatePool; values
// out of range and an incarnation that would fall are refused. Answer: Settings, those in force.
type PutSettings struct{ Settings spec.Settings }

func (c PutSettings) apply(tx *tx) (any, error) {
	known := tx.Pool()
	if known == nil {
		return nil, fmt.Errorf("pool: %w: it has not been created yet", spec.ErrNotFound)
	}
	if err := c.Settings.Check(tx.Settings().Incarnation); err != nil {
		return nil, err
	}
	pool := *known
	pool.Settings = c.Settings.Or(known.Settings)
	if pool != *known {
		tx.put(tablePool, &pool)
	}
	return tx.Settings(), nil
}

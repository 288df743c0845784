package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

var (
	tablePool = register(noun[spec.Pool]{
		table: "pool", indexes: []*index[spec.Pool]{poolIndex},
		commands:  []kind{kindOf[CreatePool](1, 1), kindOf[PutSettings](2, 1)},
		noChanges: "servers read the settings when they need them", noExpiry: "it is one record",
	})
	poolIndex = indexBy(func(*spec.Pool) string { return "" })
)

var defaultSettings = spec.Settings{Servers: 3, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Minute, Incarnation: 1}

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
	if err := checkSettings(c.Settings, tx.Settings().Incarnation); err != nil {
		return nil, err
	}
	pool := *known
	pool.Settings = c.Settings.Or(known.Settings)
	if pool != *known {
		tx.put(tablePool, &pool)
	}
	return tx.Settings(), nil
}

func checkSettings(s spec.Settings, incarnation int) error {
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

var (
	tableCA = register(noun[spec.CA]{
		table: "authority", indexes: []*index[spec.CA]{caIndex},
		commands:  []kind{kindOf[PutCA](3, 1)},
		noChanges: "it never changes, and is nobody's business", noExpiry: "it is one record",
	})
	caIndex = indexBy(func(*spec.CA) string { return "" })
)

// PutCA records the pool's authority; a no-op when there is one already, because every certificate in the pool
// hangs on it. Answer: *Authority, the one in force.
type PutCA struct{ Authority spec.CA }

func (c PutCA) apply(tx *tx) (any, error) {
	if authority := tx.CA(); authority != nil {
		return authority, nil
	}
	tx.put(tableCA, &c.Authority)
	return &c.Authority, nil
}

// CA is the pool's certificate authority, nil while none is recorded.
func (v *View) CA() *spec.CA { return caIndex.get(v, indexKey{}) }

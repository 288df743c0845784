package raftfsm

import (
	"bytes"
	"fmt"
	"time"

	"pinion/raftfsm/sortkey"
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

var (
	tableCA = register(noun[spec.CA]{
		table: "authority", indexes: []*index[spec.CA]{caIndex},
		commands:  []kind{kindOf[PutCA](3, 1)},
		noChanges: "it never changes, and is nobody's business", noExpiry: "it is one record",
	})
	caIndex = indexBy(func(*spec.CA) string { return "" })
)

// PutCA records the pool's authority. When there is one already it stays, because every certificate in the pool hangs on it;
// the key of the very same one may be sealed anew. Answer: *CA, the one in force.
type PutCA struct{ Authority spec.CA }

func (c PutCA) apply(tx *tx) (any, error) {
	if known := tx.CA(); known != nil && (known.Seal == c.Authority.Seal || !bytes.Equal(known.Certificate, c.Authority.Certificate)) {
		return known, nil
	}
	tx.put(tableCA, &c.Authority)
	return &c.Authority, nil
}

// CA is the pool's certificate authority, nil while none is recorded.
func (v *View) CA() *spec.CA { return caIndex.get(v, sortkey.Key{}) }

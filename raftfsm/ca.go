package raftfsm

import "pinion/raftfsm/spec"

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

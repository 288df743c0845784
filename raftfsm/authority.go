package raftfsm

import "pinion/raftfsm/spec"

// PutAuthority records the pool's authority; a no-op when there is one already, because every certificate in the pool
// hangs on it. Answer: *Authority, the one in force.
type PutAuthority struct{ Authority spec.Authority }

func (c PutAuthority) apply(tx *tx) (any, error) {
	if authority := tx.Authority(); authority != nil {
		return authority, nil
	}
	tx.put(tableAuthority, &c.Authority)
	return &c.Authority, nil
}

// Authority is the pool's certificate authority, nil while none is recorded.
func (v *View) Authority() *spec.Authority { return onlyAuthority.get(v, key{}) }

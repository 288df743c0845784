// Package ca has the record of the pool's certificate authority, spec.CA: how the state keeps it, and the commands that change it. Package raftfsm
// registers both.
package ca

import (
	"bytes"
	"fmt"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Index has the record.
var Index = table.By(func(*spec.CA) string { return "" })

// Find returns the pool's certificate authority, nil while none is recorded.
func Find(r table.Reader) *spec.CA { return Index.Get(r, sortkey.Key{}) }

// Put records the pool's authority. When there is one already it stays, because every certificate in the pool hangs on it;
// the key of the very same one may be sealed anew. Answer: *spec.CA, the one in force.
type Put struct{ Authority spec.CA }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	ca, known := c.Authority, Find(tx)
	if known != nil {
		if known.Seal == ca.Seal || !bytes.Equal(known.Certificate, ca.Certificate) {
			return known, nil
		}
		ca.Since, ca.Overlap = known.Since, known.Overlap
	}
	tx.Put(&ca)
	return &ca, nil
}

// Rotate puts another root in the place of the one that signs. spec.ErrInUse while hosts take certificates of the root before that, and when
// another root signs than From. Answer: *spec.CA.
type Rotate struct {
	CA   spec.CA
	From []byte // its certificate (PEM)
}

// Apply carries the command out.
func (c Rotate) Apply(tx command.Transaction) (any, error) {
	known := Find(tx)
	if known == nil || !bytes.Equal(known.Certificate, c.From) || known.Overlap.Trusted {
		return nil, fmt.Errorf("the pool's CA: %w: it is being rotated", spec.ErrInUse)
	}
	if err := tx.CheckSeal(c.CA.Seal); err != nil {
		return nil, err
	}
	tx.Put(&c.CA)
	return &c.CA, nil
}

// NarrowOverlap takes away from what is left of the root before. Answer: *spec.CA, nil when another one signs now.
type NarrowOverlap struct {
	Certificate []byte // of the root that signs (PEM)
	To          spec.CAOverlap
}

// Apply carries the command out.
func (c NarrowOverlap) Apply(tx command.Transaction) (any, error) {
	known := Find(tx)
	if known == nil || !bytes.Equal(known.Certificate, c.Certificate) {
		return nil, nil
	}
	ca := *known
	if ca.Overlap = known.Overlap.Intersect(c.To); !command.Equal(&ca, known) {
		tx.Put(&ca)
	}
	return &ca, nil
}

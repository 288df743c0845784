package raftfsm

import (
	"bytes"
	"fmt"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableCA = register(noun[spec.CA]{
		table: "authority", indexes: []*table.Index[spec.CA]{caIndex},
		commands:  []kind{kindOf[PutCA](3, 1), kindOf[RotateCA](80, 1), kindOf[NarrowCAOverlap](81, 1)},
		noChanges: "it changes once in years, and hosts are told of it otherwise", noExpiry: "it is one record",
	})
	caIndex = table.By(func(*spec.CA) string { return "" })
)

// CA is the pool's certificate authority, nil while none is recorded.
func (v *View) CA() *spec.CA { return caIndex.Get(v, sortkey.Key{}) }

// PutCA records the pool's authority. When there is one already it stays, because every certificate in the pool hangs on it;
// the key of the very same one may be sealed anew. Answer: *CA, the one in force.
type PutCA struct{ Authority spec.CA }

func (c PutCA) apply(tx *tx) (any, error) {
	ca, known := c.Authority, tx.CA()
	if known != nil {
		if known.Seal == ca.Seal || !bytes.Equal(known.Certificate, ca.Certificate) {
			return known, nil
		}
		ca.Since, ca.Overlap = known.Since, known.Overlap
	}
	tx.put(tableCA, &ca)
	return &ca, nil
}

// RotateCA puts another root in the place of the one that signs. ErrInUse while hosts take certificates of the root before that, and when
// another root signs than From. Answer: *CA.
type RotateCA struct {
	CA   spec.CA
	From []byte // its certificate (PEM)
}

func (c RotateCA) apply(tx *tx) (any, error) {
	known := tx.CA()
	if known == nil || !bytes.Equal(known.Certificate, c.From) || known.Overlap.Trusted {
		return nil, fmt.Errorf("the pool's CA: %w: it is being rotated", spec.ErrInUse)
	}
	if err := tx.CheckSeal(c.CA.Seal); err != nil {
		return nil, err
	}
	tx.put(tableCA, &c.CA)
	return &c.CA, nil
}

// NarrowCAOverlap takes away from what is left of the root before. Answer: *CA, nil when another one signs now.
type NarrowCAOverlap struct {
	Certificate []byte // of the root that signs (PEM)
	To          spec.CAOverlap
}

func (c NarrowCAOverlap) apply(tx *tx) (any, error) {
	known := tx.CA()
	if known == nil || !bytes.Equal(known.Certificate, c.Certificate) {
		return nil, nil
	}
	ca := *known
	if ca.Overlap = known.Overlap.Narrowed(c.To); !equal(&ca, known) {
		tx.put(tableCA, &ca)
	}
	return &ca, nil
}

// RecordHostRoot records that a host has a certificate of a root in use. ErrNotFound. Answer: nil.
type RecordHostRoot struct {
	HostID string
	Root   string // as in spec.Admission
}

func (c RecordHostRoot) apply(tx *tx) (any, error) {
	known := tx.Admission(c.HostID)
	if known == nil {
		return nil, fmt.Errorf("host %s: %w", c.HostID, spec.ErrNotFound)
	}
	if admission := *known; admission.Root != c.Root {
		admission.Root = c.Root
		tx.put(tableAdmissions, &admission)
	}
	return nil, nil
}

// HostsNotOn are the hosts of the pool that have no certificate of the root in use yet, as far as they have said.
func (v *View) HostsNotOn(root string) (left []*spec.Host) {
	for _, host := range v.Hosts("") {
		if admission := v.Admission(host.ID); admission == nil || admission.Root != root {
			left = append(left, host)
		}
	}
	return left
}

package raftfsm

// Authority is the pool's certificate authority. It is part of the state so that every server can sign; whoever can
// read a server's data directory can therefore make certificates, and the files are mode 0600.
type Authority struct {
	Certificate []byte `json:"certificate"` // PEM, one certificate
	Key         []byte `json:"key"`         // PEM, PKCS #8; never logged
}

// PutAuthority records the pool's authority; a no-op when there is one already, because every certificate in the pool
// hangs on it. Answer: *Authority, the one in force.
type PutAuthority struct{ Authority Authority }

func (c PutAuthority) apply(tx *tx) (any, error) {
	if authority := tx.Authority(); authority != nil {
		return authority, nil
	}
	tx.put(tableAuthority, &c.Authority)
	return &c.Authority, nil
}

// Authority is the pool's certificate authority, nil while none is recorded.
func (v *View) Authority() *Authority { return onlyAuthority.get(v, key{}) }

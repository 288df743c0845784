package admission

import (
	"errors"
	"fmt"

	"pinion/raftfsm/spec"
	"pinion/server/pki"
	"pinion/server/seal"
)

// caSealID is what the key of the pool's CA is sealed together with; no access key has this id.
const caSealID = "pool CA"

// SealCA seals the key of the pool's CA, so that it can be recorded.
func SealCA(keyring *seal.Keyring, ca pki.CA) (sealed spec.CA, err error) {
	sealed.Certificate = ca.Certificate
	sealed.SealedKey, sealed.Seal, err = keyring.Seal(caSealID, string(ca.Key), "")
	return sealed, err
}

// OpenCA is the pool's CA with its key. seal.ErrNoKey when that is sealed with a key that the keyring lacks.
func OpenCA(keyring *seal.Keyring, recorded spec.CA) (pki.CA, error) {
	key, err := keyring.Open(caSealID, recorded.SealedKey, recorded.Seal)
	if err != nil {
		return pki.CA{}, fmt.Errorf("the key of the pool's CA cannot be read: %w", err)
	}
	return pki.CA{Certificate: recorded.Certificate, Key: []byte(key)}, nil
}

// CA is the pool's CA with its key. spec.ErrUnavailable while none is recorded, and while this server lacks the key of the
// keyring that it is sealed with.
func (a *Authority) CA() (pki.CA, error) {
	recorded := a.Server.State().View().CA()
	if recorded == nil {
		return pki.CA{}, spec.Unavailable("the pool's CA is not recorded yet; try again in a moment")
	}
	ca, err := OpenCA(a.Keyring, *recorded)
	if errors.Is(err, seal.ErrNoKey) {
		return pki.CA{}, spec.Unavailable(fmt.Sprintf("%v; when no other server of the pool has it either, put seal.key from a backup into the data directory of one and restart it", err))
	}
	return ca, err
}

package admission

import (
	"context"
	"errors"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/pki"
	"pinion/server/seal"
)

// caSealID is the id that the key of the pool's CA is sealed with; no access key has this id.
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

// RootOf names the root that signs for the pool of a host, as the state has it, or as the host knows it that has none.
func RootOf(view *raftfsm.View, identity *pki.Identity) string {
	if view != nil && view.CA() != nil {
		return pki.FingerprintOf(view.CA().Certificate)
	}
	return identity.Fingerprint()
}

// SignText signs in the name of the pool, as pki.VerifyText verifies it. spec.ErrUnavailable as for CA.
func (a *Authority) SignText(text []byte) ([]byte, error) {
	ca, err := a.CA()
	if err != nil {
		return nil, err
	}
	return pki.SignText(ca, text)
}

// MaintainKeys fetches the sealing keys that a server lacks, removes those that were replaced, and keeps the key of the pool's CA on the server's
// disk, as soon as it can be read.
func (a *Authority) MaintainKeys(ctx context.Context, keys *AccessKeys, identity *pki.Identity) {
	keys.FetchKeyring(ctx)
	if err := keys.DropRetired(); err != nil {
		a.Log.Error("sealing keys that were replaced are still on this disk", "error", err)
	}
	if err := a.storeKey(identity); err != nil && !errors.Is(err, spec.ErrUnavailable) {
		a.Log.Error("the key of the pool's CA cannot be kept here", "error", err)
	}
}

func (a *Authority) storeKey(identity *pki.Identity) error {
	if _, held := identity.CA(); held {
		return nil
	}
	ca, err := a.CA()
	if err != nil || pki.FingerprintOf(ca.Certificate) != identity.Fingerprint() {
		return err // or one of the two has not heard of a rotation yet
	}
	return identity.StoreCAKey(ca)
}

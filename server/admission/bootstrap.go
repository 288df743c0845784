package admission

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/spec"
	"pinion/server/pki"
	"pinion/server/seal"
)

// Bootstrap makes the first entries of a pool, which a leader records before it answers anybody: the pool's CA, and the admission of the leader
// itself, which needed no token if it began the pool or restored it.
type Bootstrap struct {
	HostID   string
	Identity *pki.Identity // of this host
	Keyring  *seal.Keyring
	Now      func() time.Time
}

// Commands lists the entries that the state lacks.
func (f Bootstrap) Commands(view *raftfsm.View) (commands []raftfsm.Command, err error) {
	held, err := f.sealHeldCA(view.CA())
	if err != nil {
		return nil, err
	}
	if held != nil {
		commands = append(commands, raftfsm.Wrap(ca.Put{Authority: *held}))
	}
	if newer, err := f.restoredCA(view.CA()); err != nil {
		return nil, err
	} else if newer != nil {
		commands = append(commands, newer)
	}
	key, names := f.Identity.Admission()
	known := view.Admission(f.HostID)
	root := ""
	if known != nil {
		root = known.Root
	}
	if key != "" && (known == nil || known.TokenID == "" && known.PublicKeyHash == key && !slices.Equal(known.Names, names)) {
		commands = append(commands, raftfsm.AdmitBootstrapHost{Admission: spec.Admission{HostID: f.HostID, PublicKeyHash: key, At: f.Now(), Names: names, Root: root}})
	}
	return commands, nil
}

// restoredCA puts the root that this server signs with in the place of the recorded one, when that was replaced after the snapshot that the
// pool was restored from: hosts do not trust it any more. Nil when there is nothing to do.
func (f Bootstrap) restoredCA(recorded *spec.CA) (raftfsm.Command, error) {
	held, is := f.Identity.CA()
	if !is || recorded == nil || !pki.IsNewer(held.Certificate, recorded.Certificate) {
		return nil, nil
	}
	sealed, err := SealCA(f.Keyring, held)
	sealed.Since = f.Now()
	return raftfsm.Wrap(ca.Rotate{CA: sealed, From: recorded.Certificate}), err
}

// sealHeldCA returns the pool's CA for the state when it is not there, or its key is sealed so that this server cannot read
// it: the first server's begins the pool, and one that has lost its keyring still has the key on its disk.
func (f Bootstrap) sealHeldCA(recorded *spec.CA) (*spec.CA, error) {
	held, is := f.Identity.CA()
	if !is || recorded != nil && f.Keyring.Has(recorded.Seal) {
		return nil, nil
	}
	sealed, err := SealCA(f.Keyring, held)
	return &sealed, err
}

package server

import (
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/pki"
	"pinion/server/seal"
)

// founding is what a leader records before it answers anybody, if the state lacks it: the pool's CA, and by which key the leader is
// known, which needed no token if it began the pool or restored it.
func founding(cfg Config, keyring *seal.Keyring, view *raftfsm.View) (commands []raftfsm.Command, err error) {
	held, err := sealHeldCA(cfg, keyring, view.CA())
	if err != nil {
		return nil, err
	}
	if held != nil {
		commands = append(commands, raftfsm.Wrap(ca.Put{Authority: *held}))
	}
	if newer, err := restoredCA(cfg, keyring, view.CA()); err != nil {
		return nil, err
	} else if newer != nil {
		commands = append(commands, newer)
	}
	key, names := cfg.identity.Admission()
	known := view.Admission(cfg.HostID)
	root := ""
	if known != nil {
		root = known.Root
	}
	if key != "" && (known == nil || known.TokenID == "" && known.PublicKeyHash == key && !slices.Equal(known.Names, names)) {
		commands = append(commands, raftfsm.AdmitFounder{Admission: spec.Admission{HostID: cfg.HostID, PublicKeyHash: key, At: cfg.Now(), Names: names, Root: root}})
	}
	return commands, nil
}

// restoredCA puts the root that this server signs with in the place of the recorded one, when that was replaced after the snapshot that the
// pool was restored from: hosts do not trust it any more. Nil when there is nothing to do.
func restoredCA(cfg Config, keyring *seal.Keyring, recorded *spec.CA) (raftfsm.Command, error) {
	held, is := cfg.identity.CA()
	if !is || recorded == nil || !pki.IsNewer(held.Certificate, recorded.Certificate) {
		return nil, nil
	}
	sealed, err := admission.SealCA(keyring, held)
	sealed.Since = cfg.Now()
	return raftfsm.Wrap(ca.Rotate{CA: sealed, From: recorded.Certificate}), err
}

// sealHeldCA returns the pool's CA for the state when it is not there, or its key is sealed so that this server cannot read
// it: the first server's begins the pool, and one that has lost its keyring still has the key on its disk.
func sealHeldCA(cfg Config, keyring *seal.Keyring, recorded *spec.CA) (*spec.CA, error) {
	held, is := cfg.identity.CA()
	if !is || recorded != nil && keyring.Has(recorded.Seal) {
		return nil, nil
	}
	sealed, err := admission.SealCA(keyring, held)
	return &sealed, err
}

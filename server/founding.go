package server

import (
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/seal"
)

// founding is what a leader records before it answers anybody, if the state lacks it: the pool's CA, and by which key the leader is
// known, which needed no token if it began the pool or restored it.
func founding(cfg Config, keyring *seal.Keyring, view *raftfsm.View) (commands []raftfsm.Command, err error) {
	ca, err := sealHeldCA(cfg, keyring, view.CA())
	if err != nil {
		return nil, err
	}
	if ca != nil {
		commands = append(commands, raftfsm.PutCA{Authority: *ca})
	}
	key, names := cfg.identity.Admission()
	known := view.Admission(cfg.HostID)
	if key != "" && (known == nil || known.TokenID == "" && known.PublicKeyHash == key && !slices.Equal(known.Names, names)) {
		commands = append(commands, raftfsm.AdmitFounder{Admission: spec.Admission{HostID: cfg.HostID, PublicKeyHash: key, At: cfg.Now(), Names: names}})
	}
	return commands, nil
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

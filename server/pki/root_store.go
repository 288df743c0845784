package pki

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm/spec"
)

// RootStore is the roots that an Identity trusts. It is safe for concurrent use.
type RootStore struct{ id *Identity }

// Roots are the roots that this host trusts.
func (id *Identity) Roots() RootStore { return RootStore{id} }

// List are the roots of the pool's CA, as this host knows them.
func (s RootStore) List() spec.CARoots {
	s.id.mu.Lock()
	defer s.id.mu.Unlock()
	return s.id.roots.told()
}

// Issuer names the root that signed this host's certificate, in the form of Fingerprint; empty when this host trusts none that did.
func (s RootStore) Issuer() string {
	s.id.mu.Lock()
	defer s.id.mu.Unlock()
	if root := s.id.roots.issuerOf(s.id.hostCert.cert); root != nil {
		return fingerprint(root)
	}
	return ""
}

// Changed returns a channel that is closed when the roots or the certificate of this host change.
func (s RootStore) Changed() <-chan struct{} {
	s.id.mu.Lock()
	defer s.id.mu.Unlock()
	return s.id.changed[0]
}

// Trust takes over the roots that a server of this host's pool has told. Errors wrap ErrOtherCA when they are not signed by the newest root
// that this host trusts.
func (s RootStore) Trust(told spec.CARoots) error {
	s.id.mu.Lock()
	defer s.id.mu.Unlock()
	r, err := s.id.roots.after(told)
	if err != nil || r.newest == s.id.roots.newest && equalOverlap(r.overlap, s.id.roots.overlap) {
		return err
	}
	return setRoots(s.id, r)
}

// Join is Install for a host that has proved by a token which pool it joins. samePool says that it was of that pool before: then it trusts
// the roots that it is told from now on, whatever it trusted before.
func (s RootStore) Join(cert []byte, told spec.CARoots, samePool bool) error {
	id := s.id
	id.mu.Lock()
	defer id.mu.Unlock()
	given, err := parseRoots(told)
	if known := id.roots; err == nil && known.newest != nil && !samePool {
		_, err = known.after(told)
	}
	if err != nil {
		return err
	}
	return install(id, cert, given)
}

// setRoots has a host trust roots, and writes them down. The key of another root goes.
func setRoots(id *Identity, r roots) error {
	first, same := id.roots.newest == nil, id.roots.newest != nil && id.roots.newest.Equal(r.newest)
	if (!first || !r.overlap.IsEmpty()) && !(same && equalOverlap(id.roots.overlap, r.overlap)) {
		if err := writeRoots(id.file(rootsFile), r); err != nil {
			return err
		}
	}
	if !first && !same {
		if err := removeFile(id.file(caKeyFile)); err != nil {
			return err
		}
		id.caKey = nil
	}
	id.roots = r
	id.changed.notify()
	return writeCA(id.CAFile(), r)
}

func writeRoots(path string, r roots) error {
	text, err := json.MarshalIndent(r.told(), "", "  ")
	if err == nil {
		err = atomicfile.Write(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write down the roots of the pool's CA: %w", err)
	}
	return nil
}

func equalOverlap(a, b spec.CAOverlap) bool {
	return bytes.Equal(a.Previous, b.Previous) && a.Trusted == b.Trusted && a.Forced == b.Forced && a.Withdrawn == b.Withdrawn
}

// changes is a channel that is closed at the next change.
type changes []chan struct{}

func (c changes) notify() {
	close(c[0])
	c[0] = make(chan struct{})
}

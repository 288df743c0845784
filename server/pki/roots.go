package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pinion/raftfsm/spec"
)

// roots are the roots that a host knows of its pool's CA: the newest one, and what is left of the one before (see spec.CAOverlap).
type roots struct {
	newest   *x509.Certificate // nil on a host of no pool
	previous *x509.Certificate // nil when nothing is left of it
	cross    *x509.Certificate // for the key of newest, signed by previous; nil likewise
	overlap  spec.CAOverlap    // previous and cross as they were told
}

// ErrOtherCA is the error of roots that this host does not take over: none that it trusts has signed them.
var ErrOtherCA = errors.New("the pool's CA is another one than this host trusts, and not signed by that: was the CA rotated while this host was off, " +
	"join again with a token of `pinion token`; if this host belongs to another pool, `pinion down --purge` makes it free")

// parseRoots reads roots, and checks that the cross certificate is what it is taken for.
func parseRoots(told spec.CARoots) (r roots, err error) {
	if r.newest, err = parseCert(told.Newest); err != nil {
		return roots{}, fmt.Errorf("the certificate of the pool's CA: %w", err)
	}
	if told.Overlap.IsEmpty() {
		return r, nil
	}
	if r.previous, err = parseCert(told.Overlap.Previous); err == nil {
		r.cross, err = parseCert(told.Overlap.Cross)
	}
	if err == nil && (!bytes.Equal(r.cross.RawSubjectPublicKeyInfo, r.newest.RawSubjectPublicKeyInfo) || !isSignedCA(r.cross, r.previous)) {
		err = errors.New("the cross certificate is not one of the new root by the old one")
	}
	if err != nil {
		return roots{}, fmt.Errorf("the root of the pool's CA before: %w", err)
	}
	r.overlap = told.Overlap
	return r, nil
}

// isSignedCA reports whether a certificate is a CA's and signed by another CA. How many certificates may lie between is not asked: roots of
// earlier versions allow none.
func isSignedCA(cert, by *x509.Certificate) bool {
	return cert.IsCA && cert.BasicConstraintsValid && cert.CheckSignatureFrom(by) == nil
}

// told are the roots in the form that hosts tell one another.
func (r roots) told() spec.CARoots {
	if r.newest == nil {
		return spec.CARoots{}
	}
	return spec.CARoots{Newest: certPEM(r.newest), Overlap: r.overlap}
}

// trusted are the roots whose certificates this host takes.
func (r roots) trusted() []*x509.Certificate {
	switch {
	case r.newest == nil:
		return nil
	case r.overlap.Trusted:
		return []*x509.Certificate{r.newest, r.previous}
	}
	return []*x509.Certificate{r.newest}
}

// shownToClients are the certificates behind that of a host, for clients: those that know only the root before verify by the cross
// certificate, those that have the fingerprint of the newest alone (connection strings) find it.
func (r roots) shownToClients() []*x509.Certificate {
	if r.previous != nil && !r.overlap.Withdrawn {
		return []*x509.Certificate{r.cross, r.newest}
	}
	return []*x509.Certificate{r.newest}
}

// shownToHosts are the certificates behind that of a host, for others: one that joins finds the root that its token names.
func (r roots) shownToHosts() []*x509.Certificate {
	if r.previous != nil {
		return []*x509.Certificate{r.cross, r.previous, r.newest}
	}
	return []*x509.Certificate{r.newest}
}

// after are the roots of a host that knows r and is told others: of the same newest root it takes what is less of the one before, so
// that no root comes back; a new one has to be signed by the newest that it knows. One that it knows as replaced is old news.
func (r roots) after(told spec.CARoots) (roots, error) {
	given, err := parseRoots(told)
	switch {
	case err != nil || r.newest == nil:
		return given, err
	case given.newest.Equal(r.newest):
		r.overlap = r.overlap.Intersect(given.overlap)
		if r.overlap.IsEmpty() {
			r.previous, r.cross = nil, nil
		}
		return r, nil
	case r.previous != nil && given.newest.Equal(r.previous):
		return r, nil
	case given.previous != nil && given.previous.Equal(r.newest):
		return given, nil
	}
	return r, fmt.Errorf("%w (it is %.16s, this host trusts %.16s)", ErrOtherCA, fingerprint(given.newest), fingerprint(r.newest))
}

// rootsFile has the roots once there was more than one.
const rootsFile = "roots.json"

// openRoots reads the roots of a host whose CA was rotated; without any on others.
func openRoots(path string) (roots, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return roots{}, nil
	}
	var told spec.CARoots
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil {
		return roots{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	r, err := parseRoots(told)
	if err != nil {
		return roots{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return r, nil
}

// issuerOf is the trusted root that signed a certificate; nil when none did, and without a certificate.
func (r roots) issuerOf(cert *x509.Certificate) *x509.Certificate {
	for _, root := range r.trusted() {
		if cert != nil && isIssuedBy(cert, root) {
			return root
		}
	}
	return nil
}

package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
)

// NewRequest asks for a certificate for this host (PEM), to be signed by a server and given to Install. It is always for
// this host's one key (see hostKey), which is on disk before it is asked for: the pool knows the host again after an
// answer that was lost, after a crash, and after years.
func (id *Identity) NewRequest() (csr []byte, err error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	key, err := id.hostKey()
	if err != nil {
		return nil, err
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: id.host}}
	template.DNSNames, template.IPAddresses = splitNames(id.names)
	raw, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestBlock, Bytes: raw}), nil
}

// Install takes the certificate (PEM) that a server signed for a NewRequest, and writes it down. ca is the
// authority's certificate (PEM), nil when this host knows it already; another than this host trusts is refused (see RootStore.Join).
func (id *Identity) Install(cert, ca []byte) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	trusted, err := trustedCA(id.roots.newest, ca)
	if err != nil {
		return err
	}
	return install(id, cert, roots{newest: trusted, previous: id.roots.previous, cross: id.roots.cross, overlap: id.roots.overlap})
}

func install(id *Identity, cert []byte, trusted roots) error {
	own, err := parseIssued(id, cert, trusted.newest)
	if err != nil {
		return err
	}
	// The roots come last: without them the directory is that of a host that has not joined.
	if err := own.write(id.Keys, id.file("host.pem")); err != nil {
		return err
	}
	id.hostCert, id.pendingKey = own, nil
	if err := setRoots(id, trusted); err != nil {
		return err
	}
	return removeFile(id.file(pendingKeyFile)) // host.pem has the key too
}

// trustedCA is the authority that a host trusts from now on: the one that it knows, or the one it is given (PEM) when it knows
// none.
func trustedCA(known *x509.Certificate, ca []byte) (*x509.Certificate, error) {
	if ca == nil && known == nil {
		return nil, errors.New("a first certificate cannot be installed without the authority's")
	}
	if ca == nil {
		return known, nil
	}
	given, err := parseCert(ca)
	if err != nil {
		return nil, fmt.Errorf("the authority's certificate: %w", err)
	}
	if known != nil && !known.Equal(given) {
		return nil, fmt.Errorf("this host belongs to the pool with the authority %s, the certificate is of %s: `pinion down --purge` makes it free for another pool", fingerprint(known), fingerprint(given))
	}
	return given, nil
}

// parseIssued checks that what came is what was asked for.
func parseIssued(id *Identity, text []byte, ca *x509.Certificate) (certKeyPair, error) {
	cert, err := parseCert(text)
	if err != nil {
		return certKeyPair{}, fmt.Errorf("the certificate for this host: %w", err)
	}
	key, err := id.hostKey()
	if err != nil {
		return certKeyPair{}, err
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return certKeyPair{}, errors.New("the certificate is not for the key that this host asked for")
	}
	if !isFor(cert, id.host) {
		return certKeyPair{}, fmt.Errorf("the certificate is for host %q, this is %s", cert.Subject.CommonName, id.host)
	}
	if err := verifyCert(cert, []*x509.Certificate{ca}, x509.ExtKeyUsageServerAuth, id.now()); err != nil {
		return certKeyPair{}, fmt.Errorf("the certificate for this host: %w", err)
	}
	return certKeyPair{cert: cert, key: key}, nil
}

// isFor reports whether a certificate is for this host.
func isFor(cert *x509.Certificate, host string) bool {
	hostID, err := HostOf(cert)
	return err == nil && hostID == host
}

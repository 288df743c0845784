package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"pinion/packaging/atomicfile"
)

// CA is the certificate authority of a pool with its key in clear. Only servers have it; what is recorded and passed on is spec.CA.
type CA struct {
	Certificate []byte // PEM, one certificate
	Key         []byte // PEM; never logged, never recorded
}

const caLifetime = 10 * 365 * 24 * time.Hour

func newCA(now time.Time) (certKeyPair, error) {
	return selfSign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "Pinion pool CA"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(caLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	})
}

// openCA reads what this host knows of the pool's authority: with its key (ca.pem), without it (ca.crt, on a
// host that joined), or nothing.
func (id *Identity) openCA() (err error) {
	path := id.file("ca.pem")
	id.ca, err = readPair(id.Keys, path)
	if errors.Is(err, fs.ErrNotExist) {
		path = id.CAFile()
		id.ca.cert, err = readCert(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the certificate authority of this pool cannot be used: %w; put back a backup of the file", err)
	}
	if id.now().After(id.ca.cert.NotAfter) {
		return fmt.Errorf("the certificate authority %s expired on %s: check this machine's clock", path, id.ca.cert.NotAfter.Format(time.DateOnly))
	}
	return nil
}

func readCert(path string) (*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cert, err := parseCert(text)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return cert, nil
}

// createCA begins a pool.
func (id *Identity) createCA() (err error) {
	if id.ca, err = newCA(id.now()); err != nil {
		return err
	}
	return id.ca.write(id.Keys, id.file("ca.pem"))
}

// writeCA writes the authority's certificate alone, if the file does not hold it already. It is no secret: users who
// are not root need it to trust this pool.
func (id *Identity) writeCA(ca *x509.Certificate) error {
	path, text := id.CAFile(), certPEM(ca)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Fingerprint names the pool's authority: the SHA-256 of its certificate (DER) in hex. It is empty on a host that has
// not joined yet.
func (id *Identity) Fingerprint() string {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ca.cert == nil {
		return ""
	}
	return fingerprint(id.ca.cert)
}

func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// CA is the authority with its key, when this host holds it: the host that began the pool, and every one that
// was given it by HoldAuthority.
func (id *Identity) CA() (a CA, held bool) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ca.key == nil {
		return CA{}, false
	}
	key, err := keyPEM(id.ca.key)
	if err != nil {
		return CA{}, false // a key that was parsed or made here has a PEM form
	}
	return CA{Certificate: certPEM(id.ca.cert), Key: key}, true
}

// StoreCAKey keeps the authority's key on this host, as every server does: when all servers were off for longer than
// a certificate lives, they can still give themselves one and find each other again. Another pool's is refused.
func (id *Identity) StoreCAKey(a CA) error {
	held, err := parseCA(a)
	if err != nil {
		return err
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ca.cert == nil || !held.cert.Equal(id.ca.cert) {
		return fmt.Errorf("the authority %s is not the one that this host trusts", fingerprint(held.cert))
	}
	if id.ca.key != nil {
		return nil
	}
	if err := held.write(id.Keys, id.file("ca.pem")); err != nil {
		return err
	}
	id.ca = held
	return nil
}

// DropCAKey removes the authority's key from this host, as when it stops being a server. From then on other hosts
// renew its certificate. The key must be in the pool's state by then: there is no other copy.
func (id *Identity) DropCAKey() error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ca.key == nil {
		return nil
	}
	if err := os.Remove(id.file("ca.pem")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the authority's key: %w", err)
	}
	id.ca.key = nil
	return nil
}

func parseCA(a CA) (certKeyPair, error) {
	p, err := parsePair(append(append([]byte{}, a.Certificate...), a.Key...))
	if err != nil {
		return certKeyPair{}, fmt.Errorf("the pool's authority cannot be used: %w", err)
	}
	return p, nil
}

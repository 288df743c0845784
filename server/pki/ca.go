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
	"pinion/raftfsm/spec"
)

// CA is the certificate authority of a pool with its key in clear. Only servers have it; what is recorded and passed on is spec.CA.
type CA struct {
	Certificate []byte // PEM, one certificate
	Key         []byte // PEM; never logged, never recorded
}

const (
	caLifetime     = 10 * 365 * 24 * time.Hour
	crossLifetime  = hostCertLifetime + 24*time.Hour // no certificate of the root before lives longer
	caKeyFile      = "ca.pem"
	pendingKeyFile = "host.key" // of a certificate that is asked for
)

// notNamed are domains that no certificate of a pool's CA is good for: clients of Pinion have the CA among those that they trust for AWS
// (AWS_CA_BUNDLE), and nobody who has its key is to stand in for AWS.
var notNamed = []string{"amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "amazon.com", "api.aws", "on.aws"}

// newCA makes a root. It signs certificates of hosts, and one certificate between to take the place of the root before.
func newCA(now time.Time) (certKeyPair, error) {
	key, err := newKey()
	if err != nil {
		return certKeyPair{}, err
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return certKeyPair{}, err
	}
	template := caTemplate(now, caLifetime)
	// Verifiers find the certificate of a root by its name, so two roots have two.
	template.Subject = pkix.Name{CommonName: "Pinion pool CA " + publicKeyHash(spki)[:16]}
	template.MaxPathLen = 1
	cert, err := createCert(template, certKeyPair{cert: template, key: key}, &key.PublicKey)
	return certKeyPair{cert: cert, key: key}, err
}

func caTemplate(now time.Time, lifetime time.Duration) *x509.Certificate {
	return &x509.Certificate{
		NotBefore:                   now.Add(-clockSkew),
		NotAfter:                    now.Add(lifetime),
		KeyUsage:                    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid:       true,
		IsCA:                        true,
		PermittedDNSDomainsCritical: true,
		ExcludedDNSDomains:          notNamed,
	}
}

// NewCA makes another root for the pool whose CA is given, with the certificates that clients and hosts need which know only that.
func NewCA(before CA, now time.Time) (next CA, overlap spec.CAOverlap, err error) {
	old, err := parseCA(before)
	if err != nil {
		return CA{}, spec.CAOverlap{}, err
	}
	root, err := newCA(now)
	if err != nil {
		return CA{}, spec.CAOverlap{}, err
	}
	template := caTemplate(now, crossLifetime)
	template.Subject, template.SubjectKeyId, template.MaxPathLenZero = root.cert.Subject, root.cert.SubjectKeyId, true
	cross, err := createCert(template, old, &root.key.PublicKey)
	if err != nil {
		return CA{}, spec.CAOverlap{}, err
	}
	overlap = spec.CAOverlap{Previous: certPEM(old.cert), Cross: certPEM(cross), Trusted: true}
	overlap.Withdrawn = old.cert.MaxPathLenZero // roots of earlier versions: clients that know one verify nothing through another certificate
	key, err := keyPEM(root.key)
	return CA{Certificate: certPEM(root.cert), Key: key}, overlap, err
}

// IsNewer reports whether a root (PEM) was made after another one.
func IsNewer(root, than []byte) bool {
	a, err := parseCert(root)
	if err != nil {
		return false
	}
	b, err := parseCert(than)
	return err == nil && a.NotBefore.After(b.NotBefore)
}

// openCA reads what this host knows of the pool's authority: its roots, and its key when this host is a server; nothing on a host
// of no pool.
func openCA(id *Identity) (err error) {
	if id.roots, err = openRoots(id.file(rootsFile)); err != nil {
		return unusableCA(err)
	}
	path := id.file(caKeyFile)
	held, err := readPair(id.Keys, path)
	switch {
	case err == nil && (id.roots.newest == nil || id.roots.newest.Equal(held.cert)):
		id.roots.newest, id.caKey = held.cert, held.key
	case err == nil: // of a root that was replaced; the end of a setRoots that was cut short
		return removeFile(path)
	case !errors.Is(err, fs.ErrNotExist):
		return unusableCA(err)
	case id.roots.newest == nil:
		path = id.CAFile()
		if id.roots.newest, err = readCert(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unusableCA(err)
		}
	}
	if ca := id.roots.newest; ca != nil && id.now().After(ca.NotAfter) {
		return fmt.Errorf("the certificate authority %s expired on %s: check this machine's clock", path, ca.NotAfter.Format(time.DateOnly))
	}
	return nil
}

func unusableCA(err error) error {
	return fmt.Errorf("the certificate authority of this pool cannot be used: %w; put back a backup of the file", err)
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
func createCA(id *Identity) error {
	ca, err := newCA(id.now())
	if err != nil {
		return err
	}
	id.roots, id.caKey = roots{newest: ca.cert}, ca.key
	return ca.write(id.Keys, id.file(caKeyFile))
}

// writeCA writes the roots that clients need to trust this pool, if the file does not hold them already. They are no secret: users who are
// not root need them.
func writeCA(path string, r roots) error {
	var text []byte
	for _, root := range r.trusted() {
		text = append(text, certPEM(root)...)
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Fingerprint names the root that signs for the pool: the SHA-256 of its certificate (DER) in hex. It is empty on a host that has
// not joined yet.
func (id *Identity) Fingerprint() string {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.roots.newest == nil {
		return ""
	}
	return fingerprint(id.roots.newest)
}

func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// FingerprintOf is the fingerprint of a root (PEM), in the form of Identity.Fingerprint; empty when it is none.
func FingerprintOf(root []byte) string {
	cert, err := parseCert(root)
	if err != nil {
		return ""
	}
	return fingerprint(cert)
}

// CA is the authority with its key, when this host holds it: the host that began the pool, and every one that
// was given it by StoreCAKey.
func (id *Identity) CA() (a CA, held bool) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.caKey == nil {
		return CA{}, false
	}
	key, err := keyPEM(id.caKey)
	if err != nil {
		return CA{}, false // a key that was parsed or made here has a PEM form
	}
	return CA{Certificate: certPEM(id.roots.newest), Key: key}, true
}

// StoreCAKey keeps the authority's key on this host, as every server does: when all servers were off for longer than
// a certificate lives, they can still give themselves one and find each other again. Another pool's is refused, and that of a root which
// this host does not sign with.
func (id *Identity) StoreCAKey(a CA) error {
	held, err := parseCA(a)
	if err != nil {
		return err
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.roots.newest == nil || !held.cert.Equal(id.roots.newest) {
		return fmt.Errorf("the authority %s is not the one that this host trusts", fingerprint(held.cert))
	}
	if id.caKey != nil {
		return nil
	}
	if err := held.write(id.Keys, id.file(caKeyFile)); err != nil {
		return err
	}
	id.caKey = held.key
	id.changed.notify()
	return nil
}

// DropCAKey removes the authority's key from this host, as when it stops being a server. From then on other hosts
// renew its certificate. The key must be in the pool's state by then: there is no other copy.
func (id *Identity) DropCAKey() error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.caKey == nil {
		return nil
	}
	if err := os.Remove(id.file(caKeyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the authority's key: %w", err)
	}
	id.caKey = nil
	return nil
}

func parseCA(a CA) (certKeyPair, error) {
	p, err := parsePair(append(append([]byte{}, a.Certificate...), a.Key...))
	if err != nil {
		return certKeyPair{}, fmt.Errorf("the pool's authority cannot be used: %w", err)
	}
	return p, nil
}

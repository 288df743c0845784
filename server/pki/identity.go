// Package pki authenticates the hosts of a pool: a certificate authority made at the first start of the first host, and a
// short-lived certificate for each host, bound to its id and renewed automatically.
package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pinion/packaging/keystore"
)

// Options of OpenWith; the zero value of each means the default in brackets.
type Options struct {
	Now     func() time.Time // [time.Now]
	Log     *slog.Logger     // where a certificate that cannot be written down is reported [slog.Default]
	Joining bool             // another host's pool is joined: no authority is made here [false]
	Keys    *keystore.Store  // how the files with keys are written [in clear]
}

// Identity holds this host's certificate and key, and verifies other hosts of its pool. It is safe for concurrent use.
type Identity struct {
	// Keys is how the files with keys are written. It never changes.
	Keys *keystore.Store

	dir  string
	host string
	now  func() time.Time
	log  *slog.Logger

	mu         sync.Mutex
	names      []string          // sorted
	roots      roots             // none before this host joined
	caKey      *ecdsa.PrivateKey // of the newest root; nil unless this host holds the authority
	changed    changes           // of the roots and the certificate
	hostCert   certKeyPair       // empty before this host joined
	pendingKey *ecdsa.PrivateKey // of a host that has no certificate yet; nil until it asks for one
}

// Open reads the identity under dir, and begins a pool with a new authority when there is none: ca.pem (the authority
// with its key, on servers), ca.crt (what clients need of it), host.pem (this host's certificate with its key) and, on a
// host that waits for its first certificate, host.key. names are the DNS names and IP addresses by which others reach
// this host; localhost, 127.0.0.1, ::1 and pinion are always added.
//
// It refuses files that cannot be read or do not fit together, and an authority that has expired, without changing
// them. A host certificate that has expired or names other names is replaced on a host that holds the authority; on
// others see Ready and KeepRenewed.
func Open(dir, hostID string, names []string) (*Identity, error) {
	return OpenWith(dir, hostID, names, Options{})
}

// OpenJoining is Open for a host that joins another's pool: without an identity under dir it returns one that is not
// Ready, and becomes so by NewRequest and Install.
func OpenJoining(dir, hostID string, names []string) (*Identity, error) {
	return OpenWith(dir, hostID, names, Options{Joining: true})
}

// OpenWith is Open with options.
func OpenWith(dir, hostID string, names []string, o Options) (*Identity, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the directory for certificates: %w", err)
	}
	id := &Identity{dir: dir, Keys: o.Keys, host: hostID, now: o.Now, log: o.Log, names: withLocal(names), changed: changes{make(chan struct{})}}
	if err := openCA(id); err != nil {
		return nil, err
	}
	if id.roots.newest == nil {
		if o.Joining {
			return id, nil
		}
		if err := createCA(id); err != nil {
			return nil, err
		}
	}
	if err := writeCA(id.CAFile(), id.roots); err != nil {
		return nil, err
	}
	return id, id.openHostCert()
}

// openHostCert reads this host's certificate; a host that holds the authority gets another when it is no good.
func (id *Identity) openHostCert() (err error) {
	path := id.file("host.pem")
	id.hostCert, err = readPair(id.Keys, path)
	if errors.Is(err, keystore.ErrUnlock) {
		return err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; delete %s, it is made again at the next start, on a host that joined with a new token", err, path)
	}
	if id.hostCert.cert != nil && !isFor(id.hostCert.cert, id.host) {
		id.hostCert = certKeyPair{}
	}
	if id.hostCert.key != nil {
		if err := removeFile(id.file(pendingKeyFile)); err != nil { // the end of an Install that was cut short
			return err
		}
	}
	if id.caKey == nil || id.isCurrent() {
		return nil
	}
	if err := id.issueOwn(id.names); err != nil {
		return err
	}
	return id.hostCert.write(id.Keys, path)
}

func (id *Identity) file(name string) string { return filepath.Join(id.dir, name) }

// HostID is the id of this host, which its certificates are bound to.
func (id *Identity) HostID() string { return id.host }

// CAFile is the path of the authority's certificate (PEM), which is all that a client needs to trust this pool.
func (id *Identity) CAFile() string { return CAFile(id.dir) }

// CAFile is the file with the certificate of the pool's CA in a directory of certificates.
func CAFile(dir string) string { return filepath.Join(dir, "ca.crt") }

// Ready reports whether this host can prove itself now. A host that is not has to join, for the first time or, when it
// was off for longer than its certificate lives, again.
func (id *Identity) Ready() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.caKey != nil || id.isValid()
}

// Admission is what the pool knows this host by: the hash of its key, in the form of Request, empty when it has no certificate, and its
// names, sorted.
func (id *Identity) Admission() (publicKeyHash string, names []string) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.hostCert.cert != nil {
		publicKeyHash = PublicKeyHash(id.hostCert.cert)
	}
	return publicKeyHash, slices.Clone(id.names)
}

// Expires is when this host's certificate ends; zero when it has none.
func (id *Identity) Expires() time.Time {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.hostCert.cert == nil {
		return time.Time{}
	}
	return id.hostCert.cert.NotAfter
}

// Validity is from when to when this host's certificate is valid; zero when it has none.
func (id *Identity) Validity() (from, until time.Time) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.hostCert.cert == nil {
		return time.Time{}, time.Time{}
	}
	return id.hostCert.cert.NotBefore, id.hostCert.cert.NotAfter
}

// ServerTLS is how this host answers clients: TLS 1.2 or later, HTTP/1.1 and HTTP/2, with a certificate that is renewed
// while connections go on. A client that knows the root before the newest is served as long as the overlap lasts.
func (id *Identity) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificateOf(id, roots.shownToClients) },
	}
}

// SetNames replaces the names of this host. When they changed, a certificate with the new ones is issued at once on a
// host that holds the authority, and within minutes by KeepRenewed on others.
func (id *Identity) SetNames(names []string) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	wanted := withLocal(names)
	if slices.Equal(wanted, id.names) {
		return nil
	}
	if id.caKey == nil {
		id.names = wanted
		return nil
	}
	if err := id.issueOwn(wanted); err != nil {
		return err
	}
	id.names = wanted
	return id.hostCert.write(id.Keys, id.file("host.pem"))
}

// Certificate is the one to show to other hosts now, the authority's behind it. A host that holds the authority renews it here, well
// before it expires; a new one that cannot be written to disk is used all the same, and issued again at the next start.
// Errors wrap ErrNoCertificate when there is none that others would believe.
func (id *Identity) Certificate() (*tls.Certificate, error) {
	return certificateOf(id, roots.shownToHosts)
}

func certificateOf(id *Identity, shown func(roots) []*x509.Certificate) (*tls.Certificate, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.caKey != nil && !id.isCurrent() {
		if err := id.issueOwn(id.names); err != nil {
			id.log.Error("cannot renew the certificate of this host", "error", err)
		} else if err := id.hostCert.write(id.Keys, id.file("host.pem")); err != nil {
			id.log.Warn("cannot write down the renewed certificate of this host", "error", err)
		}
	}
	if !id.isValid() {
		return nil, ErrNoCertificate
	}
	if !isIssuedBy(id.hostCert.cert, id.roots.newest) {
		return id.hostCert.tlsCertificate([]*x509.Certificate{id.roots.previous}), nil // not renewed yet
	}
	return id.hostCert.tlsCertificate(shown(id.roots)), nil
}

// issueOwn issues a certificate here, for this host's key.
func (id *Identity) issueOwn(names []string) error {
	key := id.hostCert.key
	if key == nil {
		var err error
		if key, err = newKey(); err != nil {
			return err
		}
	}
	cert, err := issueCert(certKeyPair{cert: id.roots.newest, key: id.caKey}, &key.PublicKey, id.host, names, id.now())
	if err != nil {
		return err
	}
	id.hostCert = certKeyPair{cert: cert, key: key}
	id.changed.notify()
	return nil
}

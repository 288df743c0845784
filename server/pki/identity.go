// Package pki is how hosts and clients of one pool know each other: a certificate authority made at the first start,
// and a short-lived certificate for this host that renews itself.
package pki

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options of OpenWith; the zero value of each means the default in brackets.
type Options struct {
	Now func() time.Time // [time.Now]
	Log *slog.Logger     // where a certificate that cannot be written down is reported [slog.Default]
}

// Identity is what this host proves itself with. It is safe for concurrent use.
type Identity struct {
	dir  string
	host string
	now  func() time.Time
	log  *slog.Logger
	ca   pair

	mu    sync.Mutex
	names []string // sorted
	own   pair
}

// Open reads the identity under dir, and makes it when there is none: ca.pem (the authority with its key), ca.crt (what
// clients need of it) and host.pem (this host's certificate with its key). names are the DNS names and IP addresses by
// which others reach this host; localhost, 127.0.0.1, ::1 and pinion are always added.
//
// It refuses files that cannot be read or do not fit together, and an authority that has expired, without changing
// them. A host certificate that has expired or names other names is replaced.
func Open(dir, hostID string, names []string) (*Identity, error) {
	return OpenWith(dir, hostID, names, Options{})
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
	id := &Identity{dir: dir, host: hostID, now: o.Now, log: o.Log, names: withLocal(names)}
	var err error
	if id.ca, err = openAuthority(id.file("ca.pem"), o.Now()); err != nil {
		return nil, err
	}
	if err := publish(id.CAFile(), id.ca); err != nil {
		return nil, err
	}
	if err := id.openOwn(); err != nil {
		return nil, err
	}
	return id, nil
}

func (id *Identity) file(name string) string { return filepath.Join(id.dir, name) }

// CAFile is the path of the authority's certificate (PEM), which is all that a client needs to trust this pool.
func (id *Identity) CAFile() string { return id.file("ca.crt") }

// ServerTLS is how this host answers: TLS 1.2 or later, HTTP/1.1 and HTTP/2, with a certificate that is renewed while
// connections go on.
func (id *Identity) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.certificate() },
	}
}

// SetNames replaces the names of this host; when they changed, a certificate with the new ones is issued at once.
func (id *Identity) SetNames(names []string) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	wanted := withLocal(names)
	if slices.Equal(wanted, id.names) {
		return nil
	}
	own, err := issue(id.ca, id.host, wanted, id.now())
	if err != nil {
		return err
	}
	id.names, id.own = wanted, own
	return id.own.write(id.file("host.pem"))
}

// certificate is the one to show now. It is renewed once it is past its renewal time, which is well before it expires;
// a new one that cannot be written to disk is used all the same, and issued again at the next start.
func (id *Identity) certificate() (*tls.Certificate, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.now().Before(renewAt(id.own.cert)) {
		return id.own.tls(), nil
	}
	if err := id.renew(); err != nil {
		if id.now().After(id.own.cert.NotAfter) {
			return nil, fmt.Errorf("the certificate of this host has expired: %w", err)
		}
		id.log.Error("cannot renew the certificate of this host", "expires", id.own.cert.NotAfter, "error", err)
	}
	return id.own.tls(), nil
}

func (id *Identity) renew() error {
	own, err := issue(id.ca, id.host, id.names, id.now())
	if err != nil {
		return err
	}
	id.own = own
	if err := own.write(id.file("host.pem")); err != nil {
		id.log.Warn("cannot write down the renewed certificate of this host", "error", err)
	}
	return nil
}

// openOwn reads this host's certificate, or issues one when there is none that is good for what is wanted now.
func (id *Identity) openOwn() error {
	path := id.file("host.pem")
	own, err := readPair(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w; delete %s, it is made again at the next start", err, path)
	}
	if err == nil && serves(own.cert, id.ca.cert, id.names, id.now()) {
		id.own = own
		return nil
	}
	if id.own, err = issue(id.ca, id.host, id.names, id.now()); err != nil {
		return err
	}
	return id.own.write(path)
}

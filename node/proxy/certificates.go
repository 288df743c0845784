package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/raftfsm/traffic"
)

// ACME has certificates that a CA gives for names. Its methods must not block for long, and may be called at once.
type ACME interface {
	// SetNames makes these the names for which there are certificates.
	SetNames(names []string)
	// Certificate is the certificate of the name that the client asks for, or the answer to a challenge of the CA.
	Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	// Problem is why there is no certificate for a name.
	Problem(name string) error
}

// certificates are the certificates of a listener. Files are read again when they have changed, at most once in checkInterval; while new ones
// cannot be read, the old ones are used.
type certificates struct {
	acme  ACME
	names []string // of certificates by ACME
	first string   // of names; empty: the default certificate is from files

	mu      sync.Mutex
	checked time.Time
	all     []*certificate
}

// certificate is one pair of files as it was read.
type certificate struct {
	base     string // path without .crt and .key
	pair     *tls.Certificate
	modified [2]time.Time
}

const checkInterval = time.Second

func loadCertificates(config Config, names []string) (*certificates, error) {
	c, directory := &certificates{acme: config.ACME, checked: time.Now()}, config.Certificates
	if len(names) == 0 {
		return nil, errors.New("a listener of HTTPS or TLS needs a certificate: name one")
	}
	for i, name := range names {
		if host, is := strings.CutPrefix(name, traffic.ACMEPrefix); is {
			if config.ACME == nil {
				return nil, fmt.Errorf("certificate %s comes by ACME, and this host asks no CA: start it with `pinion up --acme URL`", name)
			}
			if c.names = append(c.names, host); i == 0 {
				c.first = host
			}
			continue
		}
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return nil, fmt.Errorf("%q is no name of a certificate: use that of NAME.crt and NAME.key in %s", name, directory)
		}
		one := &certificate{base: filepath.Join(directory, name)}
		if err := one.read(); err != nil {
			return nil, fmt.Errorf("cannot use certificate %s: %w; put %s.crt and %s.key into %s", name, err, name, name, directory)
		}
		c.all = append(c.all, one)
	}
	return c, nil
}

// choose is the first certificate from files for the name that the client asks for, or the one by ACME, or the first of all.
func (c *certificates) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := c.fromFiles(hello); pair != nil {
		return pair, nil
	}
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	switch {
	case slices.Contains(c.names, name):
		return c.acme.Certificate(hello)
	case c.first != "":
		other := *hello
		other.ServerName = c.first
		return c.acme.Certificate(&other)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[0].pair, nil
}

// problem is why a certificate by ACME is not there; nil when all are.
func (c *certificates) problem() error {
	if c == nil {
		return nil
	}
	for _, name := range c.names {
		if err := c.acme.Problem(name); err != nil {
			return err
		}
	}
	return nil
}

// fromFiles is the first certificate from files for the name that the client asks for; nil when there is none.
func (c *certificates) fromFiles(hello *tls.ClientHelloInfo) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= checkInterval {
		c.checked = now
		for _, one := range c.all {
			_ = one.read()
		}
	}
	for _, one := range c.all {
		if hello.SupportsCertificate(one.pair) == nil {
			return one.pair
		}
	}
	return nil
}

// read takes the files, unless they are those that it has.
func (c *certificate) read() error {
	var modified [2]time.Time
	for i, end := range []string{".crt", ".key"} {
		info, err := os.Stat(c.base + end)
		if err != nil {
			return err
		}
		modified[i] = info.ModTime()
	}
	if modified == c.modified {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.base+".crt", c.base+".key")
	if err != nil {
		return err
	}
	c.pair, c.modified = &pair, modified
	return nil
}

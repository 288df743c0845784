package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// certificates are those of a listener, read from files. Files that have changed are read again, at most once in checkInterval; while new ones
// cannot be read, the old ones are used.
type certificates struct {
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

func loadCertificates(directory string, names []string) (*certificates, error) {
	c := &certificates{checked: time.Now()}
	if len(names) == 0 {
		return nil, errors.New("a listener of HTTPS or TLS needs a certificate: name one")
	}
	for _, name := range names {
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

// choose is the first certificate for the name that the client asks for, or the first of all.
func (c *certificates) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
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
			return one.pair, nil
		}
	}
	return c.all[0].pair, nil
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

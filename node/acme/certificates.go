// Package acme gets the certificates of listeners from a CA that speaks ACME (RFC 8555), such as Let's Encrypt, with the challenge TLS-ALPN-01:
// the CA asks for it at port 443 of the name, which any host of the pool answers.
package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"pinion/packaging/backoff"
	"pinion/raftfsm/spec"
)

// LetsEncrypt is the directory of Let's Encrypt.
const LetsEncrypt = autocert.DefaultACMEDirectory

const (
	// minRetry and maxRetry bound the pause between two orders of a certificate that failed; it doubles. Let's Encrypt refuses more than five
	// failed orders of a name in an hour.
	minRetry = time.Minute
	maxRetry = time.Hour
)

// Cache is the storage that the hosts of the pool share: the account, certificates with their keys, and answers to challenges. Get's error for a
// key without a value wraps spec.ErrNotFound.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
}

// Config has the dependencies of Certificates. All fields but Email and Roots are required.
type Config struct {
	Directory string // URL of the CA's directory
	Email     string // where the CA writes when something is wrong with a certificate
	Roots     *x509.CertPool
	Cache     Cache
	Log       *slog.Logger
}

// Certificates orders and renews the certificates of the names given to SetNames. Its methods may be called at any time, also at once.
type Certificates struct {
	manager *autocert.Manager
	answers answers
	log     *slog.Logger
	renamed chan struct{} // holds a value when SetNames has changed something

	mu    sync.Mutex
	names map[string]*name
}

// name is the state of one name's certificate.
type name struct {
	ready  bool // it is there, and renewed by itself
	err    error
	next   time.Time // of the next order
	delays backoff.Backoff
}

// New returns Certificates of no names. They are ordered by Run.
func New(config Config) *Certificates {
	c := &Certificates{log: config.Log, renamed: make(chan struct{}, 1), names: map[string]*name{}}
	c.manager = &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      cache{config.Cache},
		HostPolicy: func(_ context.Context, host string) error { return c.check(host) },
		Client:     &acme.Client{DirectoryURL: config.Directory, HTTPClient: httpClient(config.Roots), UserAgent: "pinion"},
		Email:      config.Email,
	}
	c.answers.find = c.manager.GetCertificate
	return c
}

// SetNames makes these the names for which there are certificates.
func (c *Certificates) SetNames(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for known := range c.names {
		if !slices.Contains(names, known) {
			delete(c.names, known)
		}
	}
	for _, wanted := range names {
		if c.names[wanted] == nil {
			c.names[wanted], changed = &name{delays: backoff.Backoff{Min: minRetry, Max: maxRetry}}, true
		}
	}
	if !changed {
		return
	}
	select {
	case c.renamed <- struct{}{}:
	default:
	}
}

// check refuses names that no listener has.
func (c *Certificates) check(host string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names[host] == nil {
		return fmt.Errorf("no listener has a certificate for %s", host)
	}
	return nil
}

// Certificate is the certificate of the name that the client asks for, or the answer to a challenge of the CA. It is the one that was ordered,
// whatever else the client supports: for another sort, autocert would order another certificate for every stranger who asks.
func (c *Certificates) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if IsChallenge(hello) {
		if err := c.check(hello.ServerName); err != nil {
			return nil, err
		}
		return c.answers.answer(hello)
	}
	if err := c.Problem(hello.ServerName); err != nil {
		return nil, err
	}
	return c.manager.GetCertificate(helloFor(hello.ServerName))
}

// helloFor asks for the one sort of certificates that is ordered, with a key of ECDSA.
func helloFor(host string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}
}

// IsChallenge reports whether a handshake is the CA's, which asks for the answer to a challenge.
func IsChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto
}

// Problem is why there is no certificate for a name; nil when there is one.
func (c *Certificates) Problem(host string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := c.names[host]; {
	case n == nil:
		return fmt.Errorf("no listener has a certificate for %s", host)
	case n.ready:
		return nil
	case n.err != nil:
		return fmt.Errorf("the certificate of %s could not be had by ACME, it is tried again at %s: %w", host, n.next.Format(time.TimeOnly), n.err)
	}
	return fmt.Errorf("the certificate of %s is on its way from the CA", host)
}

// Run orders certificates, one after the other, until ctx ends. Those that are there are renewed 30 days before their end.
func (c *Certificates) Run(ctx context.Context) {
	for {
		host, wait := c.due(time.Now())
		if host != "" {
			ordered := make(chan struct{})
			go func() { // autocert takes no context: what is not over when ctx ends ends by itself
				defer close(ordered)
				c.order(host)
			}()
			select {
			case <-ordered:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-c.renamed:
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// due is a name whose certificate is to be ordered now, or else how long none is.
func (c *Certificates) due(now time.Time) (host string, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = maxRetry
	for host, n := range c.names {
		if n.ready {
			continue
		}
		if !n.next.After(now) {
			return host, 0
		}
		wait = min(wait, n.next.Sub(now))
	}
	return "", wait
}

// order gets the certificate of a name, from the cache or from the CA. While another host orders it, it is asked for again soon.
func (c *Certificates) order(host string) {
	_, err := c.manager.GetCertificate(helloFor(host))
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.names[host]
	if n == nil {
		return
	}
	if n.err = err; err == nil {
		n.ready = true
		c.log.Info("an ACME certificate was issued", "name", host)
		return
	}
	if errors.Is(err, spec.ErrUnavailable) {
		n.next = time.Now().Add(elsewhereRetry)
		return
	}
	n.next = time.Now().Add(n.delays.Next())
	c.log.Warn("an ACME order failed, it is retried: the CA has to reach port 443 of the name, at a listener of this pool", "name", host, "error", err, "retryAt", n.next)
}

// elsewhereRetry is the time between two looks for a certificate that another host orders.
const elsewhereRetry = 2 * time.Second

// cache is a Cache as autocert has it.
type cache struct{ Cache }

// legacyAccountKey is the cache key under which older versions of autocert kept the account's key; none ran with Pinion. autocert looks there first.
const legacyAccountKey = "acme_account.key"

// Get returns autocert's error for a key that is not there.
func (c cache) Get(ctx context.Context, key string) ([]byte, error) {
	if key == legacyAccountKey { // the pool keeps values of names alone, and takes it for one
		return nil, autocert.ErrCacheMiss
	}
	value, err := c.Cache.Get(ctx, key)
	if errors.Is(err, spec.ErrNotFound) {
		return nil, autocert.ErrCacheMiss
	}
	return value, err
}

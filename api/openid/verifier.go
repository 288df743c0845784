package openid

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/lazyregexp"
)

const (
	maxIDToken   = 16 << 10
	maxVerifying = 16               // logins that may wait for the issuer at once
	discoveryTTL = time.Hour        // how long the discovery document is good for, and keys that the issuer does not show any more
	askEvery     = 10 * time.Second // no document of the issuer is asked for more often
)

// compactForm is the only form of a token that is taken: others can be written in many ways.
var compactForm = lazyregexp.New(`^[\w-]+\.[\w-]+\.[\w-]+$`)

// algorithms are those with a public key. With none, or one that needs a secret, whoever has the public key could make tokens.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// Verifier verifies ID tokens. The zero value is ready, and it is safe for concurrent use. It waits for the issuer in the goroutine of the
// request that needs it, and holds no lock meanwhile: an issuer that is down delays nobody but those who log in.
type Verifier struct {
	mu        sync.Mutex
	known     *source
	verifying int
}

// source is an issuer with what it has told of itself.
type source struct {
	url      string
	ca       []byte
	client   *http.Client
	fetching singleflight.Group // of the provider
	provider *oidc.Provider     // nil: it has not answered yet
	at       time.Time          // when it answered
}

// Person is whom an ID token is of.
type Person struct {
	Name    string // by the user claim
	Subject string
	Groups  []string // by the groups claim, mapped or not
	Hash    string   // of the ID token's claims: however a token is written, it is used once
	Until   time.Time
}

// Verify returns whom an ID token is of, if the issuer made it for this pool within the last minutes.
func (v *Verifier) Verify(ctx context.Context, from *issuer.Issuer, token string, now time.Time) (Person, error) {
	if len(token) > maxIDToken || !compactForm.MatchString(token) {
		return Person{}, refused("it is not a signed token of at most %d bytes", maxIDToken)
	}
	if !v.enter() {
		return Person{}, wire.Errorf(httpx.Throttled, "%d logins wait for the issuer %s already: try again in a moment.", maxVerifying, from.URL)
	}
	defer v.release()
	provider, client, err := v.provider(ctx, from, now)
	if err != nil {
		return Person{}, wire.Errorf(wire.Server, "The issuer %s, at which this pool has people log in, cannot be asked for its keys: %v.", from.URL, briefly(err))
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: from.ClientID, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true})
	verified, err := verifier.Verify(oidc.ClientContext(ctx, client), token)
	if err != nil {
		return Person{}, refused("%v", err)
	}
	var payload json.RawMessage
	if err := verified.Claims(&payload); err != nil {
		return Person{}, refused("%v", err)
	}
	return personOf(from, payload, now)
}

func (v *Verifier) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.verifying >= maxVerifying {
		return false
	}
	v.verifying++
	return true
}

func (v *Verifier) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.verifying--
}

// provider is the issuer by its discovery document. Requests that need it at once wait for one answer.
func (v *Verifier) provider(ctx context.Context, from *issuer.Issuer, now time.Time) (*oidc.Provider, *http.Client, error) {
	known, err := v.source(from)
	if err != nil {
		return nil, nil, err
	}
	v.mu.Lock()
	provider, fresh := known.provider, known.provider != nil && now.Sub(known.at).Abs() < discoveryTTL
	v.mu.Unlock()
	if fresh {
		return provider, known.client, nil
	}
	result, err, _ := known.fetching.Do("", func() (any, error) {
		return oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), known.client), from.URL)
	})
	if err != nil {
		return nil, nil, err // its earlier keys may be those that it has taken back
	}
	provider = result.(*oidc.Provider)
	v.mu.Lock()
	defer v.mu.Unlock()
	known.provider, known.at = provider, now
	return provider, known.client, nil
}

// source is the issuer as it is configured now; another one is forgotten.
func (v *Verifier) source(from *issuer.Issuer) (*source, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known != nil && v.known.url == from.URL && bytes.Equal(v.known.ca, from.CA) {
		return v.known, nil
	}
	client, err := newClient(from)
	if err != nil {
		return nil, err
	}
	client.Transport = &throttledFetcher{next: client.Transport, asked: map[string]time.Time{}}
	v.known = &source{url: from.URL, ca: from.CA, client: client}
	return v.known, nil
}

// throttledFetcher asks for a document not more often than every askEvery: tokens with an unknown key, which anybody can send, make go-oidc ask for the
// keys each time.
type throttledFetcher struct {
	next  http.RoundTripper
	mu    sync.Mutex
	asked map[string]time.Time // by URL; the discovery document names the only others
}

// RoundTrip sends a request, or refuses to.
func (s *throttledFetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	at, now := s.asked[r.URL.String()], time.Now()
	recently := !at.IsZero() && now.Sub(at) < askEvery
	if !recently {
		if len(s.asked) > 16 {
			clear(s.asked)
		}
		s.asked[r.URL.String()] = now
	}
	s.mu.Unlock()
	if recently {
		return nil, fmt.Errorf("it was asked less than %v ago, and is not asked again so soon", askEvery)
	}
	return s.next.RoundTrip(r)
}

// refused says why an ID token proves nothing here.
func refused(format string, args ...any) error {
	return wire.Errorf(wire.AccessDenied, "The ID token is refused: %v. Log in anew with `pinion login`.", fmt.Errorf(format, args...))
}

// hashOf is the hash of the claims of a token.
func hashOf(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

var errNoDevice = errors.New("the issuer has no device authorization endpoint (RFC 8628), which `pinion login` and the web page need: have its administrator enable the device flow for the client")

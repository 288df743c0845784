// Package issuer has the record of the OpenID Connect issuer whose people may log in, with the rights of their groups, and the commands that change it.
//
// A login is one entry. What the groups of a person give is decided when the entry is applied, so that it cannot race with a change of the
// mapping. An ID token that was used is remembered until its age refuses it. A key that has expired is refused by the clock of the host that is
// asked, and Reap deletes it an hour later. Limits count for the owner of a key, who may have several keys one after another.
package issuer

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// How long the key of a login lives, and how many there are.
const (
	DefaultLifetime = 8 * time.Hour
	MinLifetime     = time.Minute
	MaxLifetime     = 24 * time.Hour
	MaxKeysOfPerson = 5      // that live; a further login ends the one that would end first
	MaxKeys         = 10_000 // of all people
)

// Bounds of an issuer's record.
const (
	maxGroups = 500
	maxText   = 256
	maxURL    = 512
	maxCA     = 64 << 10
)

// Issuer is the OpenID Connect issuer of the pool, and the application that the pool is there. One record.
type Issuer struct {
	URL         string        `json:"url"` // as in its ID tokens
	ClientID    string        `json:"clientId"`
	UserClaim   string        `json:"userClaim"`        // names the person
	GroupsClaim string        `json:"groupsClaim"`      // lists the person's groups
	Scopes      []string      `json:"scopes,omitempty"` // asked for beside openid
	Lifetime    time.Duration `json:"lifetime"`         // of the keys of logins
	CA          []byte        `json:"ca,omitempty"`     // PEM; empty: the CAs of the operating system
	Groups      []Group       `json:"groups,omitempty"` // by name; whose people may log in
	Version     int           `json:"version"`          // counts changes, so that two of them at once are not mixed
}

// Group is a group of the issuer's people, and what it gives them.
type Group struct {
	Name   string           `json:"name"`
	Rights accesskey.Rights `json:"rights"`
}

// UsedIDToken is an ID token that somebody has logged in with, until its age alone refuses it.
type UsedIDToken struct {
	Hash  string    `json:"hash"`
	Until time.Time `json:"until"`
}

var (
	person   = lazyregexp.New(`^[\w+=,.@:|-]{1,128}$`)
	readable = lazyregexp.New(`^[^\s\pC](?:[^\pC]*[^\s\pC])?$`)
)

// CheckPerson refuses the name of a person that could be taken for something else in an ARN, a log or a table.
func CheckPerson(name string) error {
	if person.MatchString(name) {
		return nil
	}
	return fmt.Errorf("the name of a person has 1 to 128 letters, digits and characters of _+=,.@:|-, not %.200q: name another claim (`pinion oidc set --user-claim`)", name)
}

// Or is the issuer with its zero fields taken from the defaults.
func (i Issuer) Or() Issuer {
	if i.UserClaim == "" {
		i.UserClaim = "email"
	}
	if i.GroupsClaim == "" {
		i.GroupsClaim = "groups"
	}
	if i.Lifetime == 0 {
		i.Lifetime = DefaultLifetime
	}
	return i
}

// Check refuses what cannot be an issuer.
func (i Issuer) Check() error {
	if err := CheckURL(i.URL); err != nil {
		return err
	}
	for what, text := range map[string]string{"the client id": i.ClientID, "the user claim": i.UserClaim, "the groups claim": i.GroupsClaim} {
		if len(text) > maxText || !readable.MatchString(text) {
			return fmt.Errorf("%s has 1 to %d characters, not %.300q", what, maxText, text)
		}
	}
	if slices.ContainsFunc(i.Scopes, func(s string) bool { return len(s) > maxText || !readable.MatchString(s) || strings.Contains(s, " ") }) || len(i.Scopes) > 20 {
		return fmt.Errorf("the scopes are at most 20 words, not %.300q", i.Scopes)
	}
	if i.Lifetime < MinLifetime || i.Lifetime > MaxLifetime {
		return fmt.Errorf("the lifetime of a key is %v to %v, not %v", MinLifetime, MaxLifetime, i.Lifetime)
	}
	if len(i.CA) > maxCA || len(i.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(i.CA) {
		return fmt.Errorf("the CA of the issuer is certificates in PEM form, of %d bytes at most", maxCA)
	}
	if len(i.Groups) > maxGroups {
		return fmt.Errorf("at most %d groups can be mapped", maxGroups)
	}
	return nil
}

// CheckURL refuses an issuer that is not reached over TLS, unless it is on the machine itself.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !readable.MatchString(text):
		return fmt.Errorf("the issuer is a URL such as https://login.example.com/realms/lab, not %.200q", text)
	case u.Scheme == "https", u.Scheme == "http" && IsLoopback(u):
		return nil
	}
	return fmt.Errorf("the issuer %s is not https: over http anybody on the way could make ID tokens", text)
}

// IsLoopback reports whether a URL is of this machine.
func IsLoopback(u *url.URL) bool {
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}

// WithGroup is the issuer with what a group gives; it replaces what the group gave before.
func (i Issuer) WithGroup(g Group) (Issuer, error) {
	if len(g.Name) > maxText || !readable.MatchString(g.Name) {
		return i, fmt.Errorf("the name of a group has 1 to %d characters, not %.300q", maxText, g.Name)
	}
	i = i.WithoutGroup(g.Name)
	i.Groups = append(i.Groups, g)
	slices.SortFunc(i.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return i, i.Check()
}

// WithoutGroup is the issuer in which a group gives nothing.
func (i Issuer) WithoutGroup(name string) Issuer {
	i.Groups = slices.DeleteFunc(slices.Clone(i.Groups), func(g Group) bool { return g.Name == name })
	return i
}

// Replacing is the issuer as it is recorded in place of the known one, which may be nil. Its version is one above that of the known one;
// ErrInUse when it was changed meanwhile. Groups of another issuer, or of another application there, give nothing: the groups go with the URL
// and the client id.
func (i Issuer) Replacing(known *Issuer) (Issuer, error) {
	if known == nil {
		known = &Issuer{URL: i.URL, ClientID: i.ClientID}
	}
	if i.Version != known.Version+1 {
		return i, fmt.Errorf("the issuer: %w: somebody else has changed it meanwhile: look at it (`pinion oidc show`) and try again", spec.ErrInUse)
	}
	if known.URL != i.URL || known.ClientID != i.ClientID {
		i.Groups = nil
	}
	return i, i.Check()
}

package client

import (
	"context"
	"net/url"
	"time"
)

// KeyLogin says whose key it is that a login made, and when it ends.
type KeyLogin struct {
	Person    string    `json:"person"`
	Subject   string    `json:"subject"` // the issuer's id of the person
	Issuer    string    `json:"issuer"`
	Groups    []string  `json:"groups"` // that gave the key its rights
	ExpiresAt time.Time `json:"expiresAt"`
}

// LoginIssuer is the OpenID Connect issuer at which people of a pool log in.
type LoginIssuer struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes"`
	CA       string   `json:"ca"` // of the issuer's certificate, in PEM form; empty: the CAs of the operating system
}

// LoginKey is the access key of a login, with its secret, which cannot be read again.
type LoginKey struct {
	CreatedKey
	Login KeyLogin `json:"login"`
}

// Anonymous sends requests without an access key, for those who log in.
type Anonymous struct {
	get  func(ctx context.Context, path string, query url.Values, out any) error
	call func(ctx context.Context, operation string, in, out any) error
}

// NewAnonymous returns a client for a host without the key of the configuration.
func NewAnonymous(config Config) (*Anonymous, error) {
	config.KeyID, config.Secret = "", ""
	c, err := connect(config)
	if err != nil {
		return nil, err
	}
	return &Anonymous{c.Get, c.Call}, nil
}

// LoginIssuer asks where people log in.
func (a *Anonymous) LoginIssuer(ctx context.Context) (LoginIssuer, error) {
	var at LoginIssuer
	return at, a.get(ctx, "/v1/login", nil, &at)
}

// Login exchanges an ID token of the issuer for an access key with the rights of these groups of the person; of all of them when none is
// named.
func (a *Anonymous) Login(ctx context.Context, idToken string, groups []string) (LoginKey, error) {
	var key LoginKey
	return key, a.call(ctx, "login", map[string]any{"idToken": idToken, "groups": groups}, &key)
}

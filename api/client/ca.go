package client

import (
	"context"
	"time"
)

// CA is the certificate authority of the pool: its roots, the one that signs first, and how far a rotation is.
type CA struct {
	Roots    []CARoot `json:"roots"`
	Rotating bool     `json:"rotating"`         // hosts still take certificates of the root before
	Forced   bool     `json:"forced,omitempty"` // the rotation does not wait for hosts that are away
	Left     []CAHost `json:"left"`             // hosts that have no certificate of the new root in use yet
}

// CARoot is a root of the CA.
type CARoot struct {
	Fingerprint  string    `json:"fingerprint"` // SHA-256 of the certificate
	Since        time.Time `json:"since"`
	Expires      time.Time `json:"expires"`
	Signs        bool      `json:"signs"`                 // certificates are of this root
	ClientsUntil time.Time `json:"clientsUntil,omitzero"` // until when clients that know only this root are served; zero on one that does not sign: they are not
	Certificate  string    `json:"certificate"`           // PEM
}

// CAHost is a host whose certificate is of the root before.
type CAHost struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
}

// CAOf tells the roots of the pool's CA, and how far a rotation is.
func CAOf(ctx context.Context, c *Client) (CA, error) {
	var ca CA
	return ca, c.Get(ctx, "/v1/admin/ca", nil, &ca)
}

// RotateCA puts another root in the place of the one that signs. While a rotation is under way it makes none; force has that one not wait for
// hosts that are away, and ends the old root for clients.
func RotateCA(ctx context.Context, c *Client, force bool) error {
	return c.Call(ctx, "admin/ca/rotate", map[string]bool{"force": force}, nil)
}

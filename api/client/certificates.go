package client

import (
	"context"
	"time"
)

// Certificate is what the hosts of a pool share to get a certificate by ACME.
type Certificate struct {
	Name  string    `json:"name"` // DNS name; "account" for the account at the CA
	Kind  string    `json:"kind"` // account, certificate, or challenge
	PutAt time.Time `json:"putAt"`
}

// Certificates lists the certificates by ACME of the pool, each as a T that embeds or is a Certificate.
func Certificates[T any](ctx context.Context, c *Client) (all []T, err error) {
	err = c.Get(ctx, "/v1/admin/certificates", nil, &all)
	return all, err
}

// RemoveCertificate drops the certificate of a DNS name, or with "account" the account: hosts order another one.
func RemoveCertificate(ctx context.Context, c *Client, name string) error {
	return c.Call(ctx, "admin/certificates/remove", map[string]string{"name": name}, nil)
}

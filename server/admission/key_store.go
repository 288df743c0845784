package admission

import (
	"context"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/issuer"
)

// KeyStore creates and removes access keys where this host leads, and opens their secrets where it is a server; elsewhere its
// methods fail with spec.ErrNotLeader.
type KeyStore struct {
	Keys      func() (*AccessKeys, error) // of the server here
	Authority func() (*Authority, error)  // of the server here, while it leads
}

// CreateKey is AccessKeys.CreateKey.
func (k KeyStore) CreateKey(ctx context.Context, like accesskey.Key) (accesskey.Key, error) {
	keys, err := k.Keys()
	if err != nil {
		return accesskey.Key{}, err
	}
	return keys.CreateKey(ctx, like)
}

// Login is AccessKeys.Login.
func (k KeyStore) Login(ctx context.Context, login issuer.Login) (accesskey.Key, error) {
	keys, err := k.Keys()
	if err != nil {
		return accesskey.Key{}, err
	}
	return keys.Login(ctx, login)
}

// RemoveKey is AccessKeys.RemoveKey.
func (k KeyStore) RemoveKey(ctx context.Context, id string) error {
	keys, err := k.Keys()
	if err != nil {
		return err
	}
	return keys.RemoveKey(ctx, id)
}

// KeySecret is AccessKeys.KeySecret.
func (k KeyStore) KeySecret(key *accesskey.Key) (string, error) {
	keys, err := k.Keys()
	if err != nil {
		return "", err
	}
	return keys.KeySecret(key)
}

// SealLogin is AccessKeys.SealLogin.
func (k KeyStore) SealLogin(ctx context.Context, id, login string) (sealed string, err error) {
	keys, err := k.Keys()
	if err != nil {
		return "", err
	}
	return keys.SealLogin(ctx, id, login)
}

// OpenLogin is AccessKeys.OpenLogin.
func (k KeyStore) OpenLogin(ctx context.Context, id, sealed string) (login string, err error) {
	keys, err := k.Keys()
	if err != nil {
		return "", err
	}
	return keys.OpenLogin(ctx, id, sealed)
}

// RotateSealingKey is AccessKeys.RotateSealingKey.
func (k KeyStore) RotateSealingKey(ctx context.Context) error {
	keys, err := k.Keys()
	if err != nil {
		return err
	}
	return keys.RotateSealingKey(ctx)
}

// RotateCA is Authority.RotateCA.
func (k KeyStore) RotateCA(ctx context.Context, force bool) error {
	authority, err := k.Authority()
	if err != nil {
		return err
	}
	return authority.RotateCA(ctx, force)
}

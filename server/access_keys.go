package server

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/seal"
)

// BootstrapKey returns the pool's own admin key, which every host gives to its administrators; it makes one when there is
// none whose secret can be read (created is true then). Whoever holds it may do everything.
func (s *Server) BootstrapKey(ctx context.Context) (key spec.AccessKey, created bool, err error) {
	s.bootstrapKeyMu.Lock()
	defer s.bootstrapKeyMu.Unlock()
	view, err := s.View(ctx)
	if err != nil {
		return key, false, err
	}
	s.fetchSealKeys(ctx)
	if key, ok := s.bootstrapKey(view); ok {
		return key, false, nil
	}
	key, err = s.recordKey(ctx, spec.AccessKey{Role: spec.RoleAdmin, Hosts: true})
	return key, true, err
}

// bootstrapKey is the newest of the pool's own keys that can be read.
func (s *Server) bootstrapKey(view *raftfsm.View) (found spec.AccessKey, ok bool) {
	for _, key := range view.AccessKeys() {
		if !key.Hosts || ok && key.CreatedAt.Before(found.CreatedAt) {
			continue
		}
		if secret, err := s.KeySecret(key); err == nil {
			found, ok = *key, true
			found.Secret = secret
		}
	}
	return found, ok
}

// CreateKey makes an access key with a role, for one cluster or, when that is empty, for all. The answer is the only one
// that has the secret.
func (s *Server) CreateKey(ctx context.Context, role spec.Role, cluster string) (spec.AccessKey, error) {
	return s.recordKey(ctx, spec.AccessKey{Role: role, Cluster: cluster})
}

// recordKey completes a key, records it with its secret sealed, and returns it with the secret in clear.
func (s *Server) recordKey(ctx context.Context, key spec.AccessKey) (spec.AccessKey, error) {
	secret := newKeySecret()
	key.ID, key.CreatedAt = newKeyID(), s.cfg.Now()
	recorded := key
	var err error
	if recorded.Sealed, recorded.Seal, err = s.keyring.Seal(key.ID, secret); err != nil {
		return spec.AccessKey{}, err
	}
	if _, err := s.Propose(ctx, raftfsm.CreateAccessKey{Key: recorded}); err != nil {
		return spec.AccessKey{}, err
	}
	key.Secret = secret
	return key, nil
}

// RemoveKey ends an access key: what is signed with it is refused from now on. raftfsm.ErrNotFound.
func (s *Server) RemoveKey(ctx context.Context, id string) error {
	_, err := s.Propose(ctx, raftfsm.DeleteAccessKey{ID: id})
	return err
}

// KeySecret is the secret of a key in the state. raftfsm.ErrUnavailable while this server does not have the key that it
// is sealed with.
func (s *Server) KeySecret(key *spec.AccessKey) (string, error) {
	secret, err := s.keyring.Open(key.ID, key.Sealed, key.Seal)
	if errors.Is(err, seal.ErrNoKey) {
		return "", spec.Unavailable(fmt.Sprintf("the secret of access key %s cannot be read: %v; when no other server of the pool has it either, put seal.key into the data directory of one and restart it, or make another access key (`pinion keys create` on a host)", key.ID, err))
	}
	if err != nil {
		return "", fmt.Errorf("access key %s: %w", key.ID, err)
	}
	return secret, nil
}

// newKeyID is "AKIA" and 16 upper-case letters and digits.
func newKeyID() string {
	return "AKIA" + base32.StdEncoding.EncodeToString(id.RandomBytes(10))
}

// newKeySecret is 40 characters that carry 240 random bits.
func newKeySecret() string { return base64.StdEncoding.EncodeToString(id.RandomBytes(30)) }

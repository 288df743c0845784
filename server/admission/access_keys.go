package admission

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/seal"
)

// AccessKeys creates, removes and opens the access keys of clients. The state holds their secrets sealed with the keyring,
// which only servers have. Safe for concurrent use.
type AccessKeys struct {
	Server  Server
	Keyring *seal.Keyring
	Fetch   *KeyringFetcher // nil in a pool of one server

	hostKeyMu sync.Mutex // one host key is made at a time
	rotateMu  sync.Mutex // one sealing key is made at a time
}

// HostKey returns the access key of a host, which it gives to its administrators, and makes one when it has none whose secret can
// be read. Its rights are those of accesskey.HostRights, and it ends when the host is removed. spec.ErrRemoved.
func (a *AccessKeys) HostKey(ctx context.Context, hostID string, server bool) (accesskey.Key, error) {
	a.hostKeyMu.Lock()
	defer a.hostKeyMu.Unlock()
	view, err := a.Server.View(ctx)
	if err != nil {
		return accesskey.Key{}, err
	}
	a.FetchKeyring(ctx)
	if known := credential.OfHost(view, hostID); known != nil {
		if secret, err := a.KeySecret(known); err == nil {
			key := *known
			key.Secret = secret
			return key, nil
		}
	}
	key := accesskey.Key{HostID: hostID}
	key.Role, key.Cluster = accesskey.HostRights(server, clusterOf(view, hostID))
	return a.record(ctx, key, create)
}

// clusterOf is the cluster of a host that may not have registered yet.
func clusterOf(view *raftfsm.View, hostID string) string {
	if host := view.Host(hostID); host != nil {
		return host.Cluster
	}
	if admission := view.Admission(hostID); admission != nil {
		return admission.ClusterName()
	}
	return spec.DefaultCluster
}

// CreateKey makes an access key with the role, the clusters and the grant of this one. Only its answer has the secret in clear.
func (a *AccessKeys) CreateKey(ctx context.Context, like accesskey.Key) (accesskey.Key, error) {
	return a.record(ctx, accesskey.Key{Name: like.Name, Role: like.Role, Cluster: like.Cluster, Grant: like.Grant}, create)
}

// Login makes the access key of a person who has logged in; see issuer.Login, which decides on its rights. Only its answer has the secret in
// clear.
func (a *AccessKeys) Login(ctx context.Context, login issuer.Login) (accesskey.Key, error) {
	return a.record(ctx, login.Key, func(key accesskey.Key) raftfsm.Command {
		login.Key = key
		return raftfsm.Wrap(login)
	})
}

// create is the command that records a key as it is.
func create(key accesskey.Key) raftfsm.Command { return raftfsm.Wrap(credential.Create{Key: key}) }

// record completes a key, records it with its secret sealed, and returns what was recorded with the secret in clear.
func (a *AccessKeys) record(ctx context.Context, key accesskey.Key, command func(accesskey.Key) raftfsm.Command) (accesskey.Key, error) {
	secret := newKeySecret()
	key.ID, key.CreatedAt = newKeyID(), a.Server.Now()
	var err error
	if key.Sealed, key.Seal, err = a.sealSecret(ctx, key.ID, secret); err != nil {
		return accesskey.Key{}, err
	}
	answer, err := a.Server.Propose(ctx, command(key))
	if err != nil {
		return accesskey.Key{}, err
	}
	recorded := *answer.(*accesskey.Key)
	recorded.Secret = secret
	return recorded, nil
}

// sealSecret seals with the key that the CA is sealed with: as many servers have it as have the CA.
func (a *AccessKeys) sealSecret(ctx context.Context, id, secret string) (sealed []byte, name string, err error) {
	with := ""
	if ca := a.Server.State().View().CA(); ca != nil {
		with = ca.Seal
	}
	a.FetchKeyring(ctx)
	sealed, name, err = a.Keyring.Seal(id, secret, with)
	if errors.Is(err, seal.ErrNoKey) {
		err = errLacksSealingKey(with)
	}
	return sealed, name, err
}

// errLacksSealingKey refuses what needs a key that other servers have.
func errLacksSealingKey(name string) error {
	return spec.Unavailable(fmt.Sprintf("this server does not have sealing key %s yet: try again in a moment", name))
}

// RemoveKey ends an access key: requests signed with it are refused from now on. spec.ErrNotFound.
func (a *AccessKeys) RemoveKey(ctx context.Context, keyID string) error {
	_, err := a.Server.Propose(ctx, raftfsm.Wrap(credential.Delete{ID: keyID}))
	return err
}

// KeySecret is the secret of a key in the state. spec.ErrUnavailable while this server does not have the key of the keyring
// that it is sealed with.
func (a *AccessKeys) KeySecret(key *accesskey.Key) (string, error) {
	secret, err := a.Keyring.Open(key.ID, key.Sealed, key.Seal)
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

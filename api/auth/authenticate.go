package auth

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"pinion/api/auth/sigv4"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// KeySecrets reads the secrets of access keys, which the state holds sealed.
type KeySecrets interface {
	// KeySecret returns the secret of a key in the state. spec.ErrUnavailable while this host cannot read it.
	KeySecret(key *accesskey.Key) (string, error)
}

// Authenticator finds out who sent a request. It is safe for concurrent use.
type Authenticator struct {
	Trusted bool                       // a request without credentials is root's: the root-only socket of this host
	Region  string                     // of a principal that signed for none
	Secrets KeySecrets                 // nil: the state holds secrets in clear
	Service func(*http.Request) string // that the request must be signed for: "ecs", "logs"
	Now     func() time.Time           // this machine's clock
	Signers *sigv4.SignerCache
}

const bearerScheme = "Bearer "

// CheckForm refuses a request whose credentials cannot be anybody's by their form alone. It comes first because it is cheap:
// the body is not read and no other host is asked.
func (a *Authenticator) CheckForm(r *http.Request) error {
	header := r.Header.Get("Authorization")
	if header == "" && (a.Trusted || httpx.OriginOf(r).Socket) || strings.HasPrefix(header, bearerScheme) {
		return nil
	}
	return sigv4.CheckForm(r)
}

// Authenticate returns the principal of a request with this body, with the keys of one view.
func (a *Authenticator) Authenticate(r *http.Request, body []byte, view *raftfsm.View) (Principal, error) {
	credential, err := a.Identify(r, body, view)
	if err != nil {
		return Principal{}, err
	}
	return credential.Principal(view)
}

// Credential is the proof of a request's origin with the keys of one view. Principal turns it into a principal with the keys
// of that view or a younger one.
type Credential struct {
	key       *accesskey.Key // nil: root, through the socket
	region    string
	signature string
}

// Identify checks the proof of a request with this body with the keys of view. A key that has expired proves nothing.
func (a *Authenticator) Identify(r *http.Request, body []byte, view *raftfsm.View) (Credential, error) {
	credential, err := a.verify(r, body, view)
	if err == nil && credential.key != nil {
		err = checkExpiry(credential.key, a.Now())
	}
	return credential, err
}

func (a *Authenticator) verify(r *http.Request, body []byte, view *raftfsm.View) (Credential, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		if key, through, err := a.socketKey(r, view); through || err != nil {
			return Credential{key: key, region: a.Region}, err
		}
	}
	if strings.HasPrefix(header, bearerScheme) {
		key, err := a.bearerKey(r, strings.TrimPrefix(header, bearerScheme), view)
		return Credential{key: key, region: a.Region}, err
	}
	var key *accesskey.Key
	var unreadable error
	verifier := sigv4.Verifier{Service: a.Service(r), Now: a.Now, Signers: a.Signers}
	signer, err := verifier.Verify(r, body, func(keyID string) (secret string, known bool) {
		if key, unreadable = keyOf(r, view, keyID); key == nil {
			return "", false
		}
		secret, unreadable = a.secret(key)
		return secret, true
	})
	if unreadable != nil {
		return Credential{}, unreadable
	}
	return Credential{key: key, region: signer.Region, signature: signer.Signature}, err
}

// socketKey returns whose a request without credentials is that came through the root-only socket of a host; through is false
// for any other. Root of this host and of a server is root, for which the key is nil. Root of an agent has no more rights than
// its host, which the host's own key has.
func (a *Authenticator) socketKey(r *http.Request, view *raftfsm.View) (key *accesskey.Key, through bool, err error) {
	origin := httpx.OriginOf(r)
	if a.Trusted || origin.Socket && origin.Peer.Server {
		return nil, true, nil
	}
	if !origin.Socket {
		return nil, false, nil
	}
	if key = credential.OfHost(view, origin.Peer.HostID); key == nil {
		return nil, true, wire.Errorf(sigv4.UnrecognizedClient, "Host %s has no access key: it was removed, or is not made yet. The host asks for one when it starts; restart it.", origin.Peer.HostID)
	}
	return key, true, nil
}

// bearerKey checks "KEYID:SECRET", for curl and scripts. It carries the secret in clear, so it is as good as the TLS around
// it.
func (a *Authenticator) bearerKey(r *http.Request, credential string, view *raftfsm.View) (*accesskey.Key, error) {
	keyID, secret, ok := strings.Cut(credential, ":")
	key, err := keyOf(r, view, keyID)
	if err != nil {
		return nil, err
	}
	if ok && key != nil {
		known, err := a.secret(key)
		if err != nil {
			return nil, err
		}
		if subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1 {
			return key, nil
		}
	}
	return nil, wire.Errorf(sigv4.UnrecognizedClient, "The access key is not valid. Send \"Authorization: Bearer KEYID:SECRET\"; `pinion env` on a host prints a key.")
}

// secret returns the secret of a key. It is never empty: a client that sent nothing would have the right one.
func (a *Authenticator) secret(key *accesskey.Key) (secret string, err error) {
	secret = key.Secret
	if a.Secrets != nil {
		secret, err = a.Secrets.KeySecret(key)
	}
	if err != nil && key.Assumed != nil && !errors.Is(err, spec.ErrUnavailable) {
		return "", errBadSecurityToken
	}
	if err == nil && secret == "" {
		err = wire.Errorf(wire.Server, "The secret of access key %s cannot be read here.", key.ID)
	}
	return secret, err
}

// Principal is the principal of a credential in a view that may be younger than the one of the proof: a key that was removed
// since then is refused.
func (c Credential) Principal(view *raftfsm.View) (Principal, error) {
	if c.key == nil {
		return root(c.region), nil
	}
	key := view.AccessKey(c.key.ID)
	if !isSameKey(c.key, key) {
		return Principal{}, ErrKeyRemoved(c.key.ID)
	}
	task := ""
	if key.Assumed != nil {
		task = key.Assumed.Task
	}
	return Principal{
		ARN: key.ARN(), Task: task, KeyID: key.ID, KeyName: key.Name, Owner: key.Owner(), HostID: key.HostID, Role: key.Role, Clusters: KeyClusters(key.Cluster), Grant: key.Grant,
		Region: c.region, Signature: c.signature,
	}, nil
}

// ErrKeyRemoved refuses a key that was removed while its request or stream was under way.
func ErrKeyRemoved(keyID string) error {
	return wire.Errorf(sigv4.UnrecognizedClient, "The access key %s was removed.", keyID)
}

// CheckLives refuses a key of a stream that was removed or has expired meanwhile.
func CheckLives(keyID string, view *raftfsm.View, now time.Time) error {
	if key := view.AccessKey(keyID); key != nil {
		return checkExpiry(key, now)
	}
	return ErrKeyRemoved(keyID)
}

// checkExpiry refuses a key that is over.
func checkExpiry(key *accesskey.Key, now time.Time) error {
	if !key.Expired(now) {
		return nil
	}
	if key.Assumed != nil {
		return wire.Errorf(wire.ExpiredSecurityToken, "The security token included in the request is expired: that of task %s ended at %s, and its container has another one at $AWS_CONTAINER_CREDENTIALS_FULL_URI.", key.Assumed.Task, key.Assumed.Expires.Format(time.RFC3339))
	}
	return wire.Errorf(wire.ExpiredSecurityToken, "The access key %s of %s has expired at %s: log in again with `pinion login`.", key.ID, key.Login.Person, key.Login.Expires.UTC().Format(time.RFC3339))
}

package api

import (
	"bytes"
	"crypto/subtle"
	"net/http"
	"strings"

	"pinion/api/ecs"
	"pinion/api/sigv4"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// caller is who asks, and the state as it was when they did.
type caller struct {
	principal string           // ARN
	role      spec.Role        // of the access key
	bound     ecs.ClusterScope // the only cluster that the key is for
	region    string
	signature string // of a signed request; empty through the socket and with a bearer key
	key       string // id of the access key; empty for root, through the socket
	view      *raftfsm.View
	silent    map[string]bool // hosts of which the leader said that it has not heard lately; nil: it said nothing, see confirm.go
}

// claim is who a request was proved to come from, with the keys as they were in one view of the state.
type claim struct {
	key       *spec.AccessKey // nil: root, through the socket
	region    string
	signature string
}

const bearerScheme = "Bearer "

// formed refuses a request that cannot be anybody's by its form alone, before it costs anything: its body is not read and
// nobody else is asked.
func (d *door) formed(r *http.Request) error {
	header := r.Header.Get("Authorization")
	if header == "" && d.trusts(r) || strings.HasPrefix(header, bearerScheme) {
		return nil
	}
	return sigv4.CheckForm(r)
}

// authenticate finds out who asks, with one view of the state for everything.
func (d *door) authenticate(r *http.Request, body []byte, view *raftfsm.View) (caller, error) {
	claim, err := d.identify(r, body, view)
	if err != nil {
		return caller{}, err
	}
	return claim.as(view)
}

// identify finds out who sent the request with this body, with the keys in view.
func (d *door) identify(r *http.Request, body []byte, view *raftfsm.View) (claim, error) {
	header := r.Header.Get("Authorization")
	if header == "" && d.trusts(r) {
		return claim{region: d.Region}, nil
	}
	if strings.HasPrefix(header, bearerScheme) {
		key, err := d.bearer(strings.TrimPrefix(header, bearerScheme), view)
		return claim{key: key, region: d.Region}, err
	}
	var key *spec.AccessKey
	var unreadable error
	signer, err := d.verifier(r).Verify(r, body, func(keyID string) (secret string, known bool) {
		if key = view.AccessKey(keyID); key == nil {
			return "", false
		}
		secret, unreadable = d.secret(key)
		return secret, true
	})
	if unreadable != nil {
		return claim{}, unreadable
	}
	return claim{key: key, region: signer.Region, signature: signer.Signature}, err
}

// bearer checks "KEYID:SECRET", for curl and scripts. It has the secret in clear, so it is only as good as the TLS
// around it.
func (d *door) bearer(credential string, view *raftfsm.View) (*spec.AccessKey, error) {
	keyID, secret, ok := strings.Cut(credential, ":")
	key := view.AccessKey(keyID)
	if ok && key != nil {
		known, err := d.secret(key)
		if err != nil {
			return nil, err
		}
		if subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1 {
			return key, nil
		}
	}
	return nil, wire.Errorf(sigv4.UnrecognizedClient, "The access key is not valid. Send \"Authorization: Bearer KEYID:SECRET\"; `pinion env` on a host prints a key.")
}

// secret is what a key is checked with. It is never empty: whoever sent nothing would have the right one.
func (d *door) secret(key *spec.AccessKey) (secret string, err error) {
	secret = key.Secret
	if d.Admin.Keys != nil {
		secret, err = d.Admin.Keys.KeySecret(key)
	}
	if err == nil && secret == "" {
		err = wire.Errorf(wire.Server, "The secret of access key %s cannot be read here.", key.ID)
	}
	return secret, err
}

// as is the caller of a claim in a view that may be younger than the one that the claim was proved with: a key that was
// removed since is nobody's.
func (c claim) as(view *raftfsm.View) (caller, error) {
	who := caller{region: c.region, signature: c.signature, view: view}
	if c.key == nil {
		who.principal, who.role = "arn:aws:iam::"+spec.AccountID+":root", spec.RoleAdmin
		return who, nil
	}
	key := view.AccessKey(c.key.ID)
	if key == nil || key.Secret != c.key.Secret || !bytes.Equal(key.Sealed, c.key.Sealed) {
		return caller{}, wire.Errorf(sigv4.UnrecognizedClient, "The access key %s was removed.", c.key.ID)
	}
	who.principal, who.key, who.role, who.bound = "arn:aws:iam::"+spec.AccountID+":user/"+key.ID, key.ID, key.Role, ecs.ClusterScope(key.Cluster)
	return who, nil
}

// may refuses what a caller's role is not enough for.
func (c caller) may(needed spec.Role) error {
	if c.role.May(needed) {
		return nil
	}
	return wire.Errorf(accessDenied, "%s may not do this: it needs an access key with the role %s.", c.principal, needed)
}

// mayAll refuses what is about the whole pool to a key that is for one cluster.
func (c caller) mayAll() error {
	if c.bound == "" {
		return nil
	}
	return wire.Errorf(accessDenied, "%s may not do this: its key is for the cluster %s alone, and this is about all of them.", c.principal, c.bound)
}

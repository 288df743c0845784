package api

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"pinion/api/sigv4"
	"pinion/api/wire"
	"pinion/raftfsm"
)

// caller is who asks, and the state as it was when they did.
type caller struct {
	principal string // ARN
	role      string // of the access key
	region    string
	view      *raftfsm.View
}

// roleAdmin may do everything.
const roleAdmin = "admin"

// authenticate finds out who sent the request with this body.
func (d *door) authenticate(r *http.Request, body []byte, view *raftfsm.View) (caller, error) {
	who := caller{principal: "arn:aws:iam::" + raftfsm.Account + ":root", role: roleAdmin, region: d.Region, view: view}
	switch {
	case r.Header.Get("Authorization") == "" && d.trusts(r):
		return who, nil
	case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		keyID, err := bearer(r, view)
		return who.with(view.Key(keyID)), err
	}
	signer, err := d.verifier.Verify(r, body, func(keyID string) (string, bool) {
		key := view.Key(keyID)
		if key == nil {
			return "", false
		}
		return key.Secret, true
	})
	who.region = signer.Region
	return who.with(view.Key(signer.KeyID)), err
}

// with is the caller as the owner of a key; nil is nobody.
func (c caller) with(key *raftfsm.AccessKey) caller {
	c.principal, c.role = "", ""
	if key != nil {
		c.principal, c.role = "arn:aws:iam::"+raftfsm.Account+":user/"+key.ID, key.Role
	}
	return c
}

// bearer checks "Authorization: Bearer KEYID:SECRET", for curl and scripts. It has the secret in clear, so it is only
// as good as the TLS around it.
func bearer(r *http.Request, view *raftfsm.View) (string, error) {
	keyID, secret, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ":")
	key := view.Key(keyID)
	if !ok || key == nil || subtle.ConstantTimeCompare([]byte(key.Secret), []byte(secret)) != 1 {
		return "", wire.Errorf(sigv4.UnrecognizedClient, "The access key is not valid. Send \"Authorization: Bearer KEYID:SECRET\"; `pinion env` on a host prints a key.")
	}
	return keyID, nil
}

// admit lets a request in whose body was read: it finds the state and who asks. When ok is false the request has been
// answered: by the leader, or with why it was refused.
func (d *door) admit(w http.ResponseWriter, r *http.Request, contentType string, body []byte, find finder) (who caller, ok bool) {
	view, err := find(w, r, body)
	if err == errAnswered {
		return caller{}, false
	}
	if err == nil {
		who, err = d.authenticate(r, body, view)
	}
	if err != nil {
		d.refuse(w, r, contentType, err)
	}
	return who, err == nil
}

// finder is reach or look.
type finder func(w http.ResponseWriter, r *http.Request, body []byte) (*raftfsm.View, error)

// asCaller makes a handler of the read-only plain door that is only reached by those who may.
func (d *door) asCaller(handle func(w http.ResponseWriter, r *http.Request, who caller) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		if err != nil {
			d.refuse(w, r, typeJSON, err)
			return
		}
		who, ok := d.admit(w, r, typeJSON, body, d.look)
		if !ok {
			return
		}
		if err := handle(w, r, who); err != nil {
			d.refuse(w, r, typeJSON, err)
		}
	}
}

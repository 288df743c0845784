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
	region    string
	view      *raftfsm.View
}

// authenticate finds out who sent the request with this body.
func (d *door) authenticate(r *http.Request, body []byte) (caller, error) {
	view, err := d.Cluster.View(r.Context())
	if err != nil {
		return caller{}, err
	}
	who := caller{principal: "arn:aws:iam::" + raftfsm.Account + ":root", region: d.Region, view: view}
	switch {
	case r.Header.Get("Authorization") == "" && d.Trusted:
		return who, nil
	case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		keyID, err := bearer(r, view)
		who.principal = user(keyID)
		return who, err
	}
	signer, err := d.verifier.Verify(r, body, func(keyID string) (string, bool) {
		key := view.Key(keyID)
		if key == nil {
			return "", false
		}
		return key.Secret, true
	})
	who.principal, who.region = user(signer.KeyID), signer.Region
	return who, err
}

func user(keyID string) string { return "arn:aws:iam::" + raftfsm.Account + ":user/" + keyID }

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

// asCaller makes a handler of the read-only plain door that is only reached by those who may.
func (d *door) asCaller(handle func(w http.ResponseWriter, r *http.Request, who caller) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		if err != nil {
			d.refuse(w, r, typeJSON, err)
			return
		}
		who, err := d.authenticate(r, body)
		if err != nil {
			d.refuse(w, r, typeJSON, err)
			return
		}
		if err := handle(w, r, who); err != nil {
			d.refuse(w, r, typeJSON, err)
		}
	}
}

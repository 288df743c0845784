package admission

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"pinion/server/seal"
)

// loginSealID is what a login that a browser has begun is sealed together with, before its id.
const loginSealID = "login "

// SealLogin seals what the next leader has to know of a login that a browser has begun, and nothing of it is recorded: the browser keeps it. It opens
// together with the id alone, on every server. spec.ErrUnavailable.
func (a *AccessKeys) SealLogin(ctx context.Context, id, login string) (sealed string, err error) {
	raw, name, err := a.sealSecret(ctx, loginSealID+id, login)
	return name + "." + base64.RawURLEncoding.EncodeToString(raw), err
}

// OpenLogin opens what SealLogin has sealed. spec.ErrUnavailable while this server lacks the key that is in use. `pinion keys rotate` removes the key
// before it, and ends the logins that are sealed with that.
func (a *AccessKeys) OpenLogin(ctx context.Context, id, sealed string) (login string, err error) {
	name, text, _ := strings.Cut(sealed, ".")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	ca := a.Server.State().View().CA()
	inUse := ca != nil && ca.Seal == name
	if inUse && !a.Keyring.Has(name) {
		a.FetchKeyring(ctx)
	}
	login, err = a.Keyring.Open(loginSealID+id, raw, name)
	if inUse && errors.Is(err, seal.ErrNoKey) {
		err = errLacksSealingKey(name)
	}
	return login, err
}

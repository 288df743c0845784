package secretsmanager

import (
	"context"
	"encoding/base64"

	"pinion/api/httpx"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/secret"
)

// maxValue is AWS's most bytes of a value.
const maxValue = 65536

// givenValue are the members of a value. One of them is given.
type givenValue struct {
	SecretString *string `json:"SecretString"`
	SecretBinary *string `json:"SecretBinary"` // in base64
}

// value is a value as versions have it.
type value struct {
	text   string // in base64 when it is binary
	binary bool
}

// read checks the value. It is nil when none is given. The errors do not tell it.
func (given *givenValue) read() (*value, error) {
	switch text, encoded := given.SecretString, given.SecretBinary; {
	case text != nil && encoded != nil:
		return nil, errInvalid("You can't specify both a binary secret value and a string secret value in the same secret.")
	case text != nil:
		if len(*text) > maxValue {
			return nil, errInvalid("SecretString can have at most %d bytes, not %d.", maxValue, len(*text))
		}
		return &value{*text, false}, secrets.CheckValue("SecretString", *text, "Give it as SecretBinary, which may have any bytes.")
	case encoded != nil:
		raw, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			return nil, wire.Errorf(wire.Serialization, "SecretBinary must be base64.")
		}
		if len(raw) == 0 || len(raw) > maxValue {
			return nil, errInvalid("SecretBinary must have 1 to %d bytes, not %d.", maxValue, len(raw))
		}
		return &value{base64.StdEncoding.EncodeToString(raw), true}, nil
	}
	return nil, nil
}

// require is read for operations that need a value.
func (given *givenValue) require() (*value, error) {
	value, err := given.read()
	if err == nil && value == nil {
		return nil, wire.Errorf(invalidRequest, "You must provide either SecretString or SecretBinary.")
	}
	return value, err
}

var clientTokenText = lazyregexp.New(`^[!-~]{32,64}$`)

// versionID is the id of a new version: the client's token, or one that is made here.
func versionID(token string) (string, error) {
	if token == "" {
		return httpx.NewUUID(), nil
	}
	if !clientTokenText.MatchString(token) {
		return "", errInvalid("ClientRequestToken must be 32 to 64 characters long, without blanks.")
	}
	return token, nil
}

// byID is the version of an id; nil when there is none.
func byID(s *secret.Secret, id string) *secret.Version {
	for i := range s.Versions {
		if s.Versions[i].ID == id {
			return &s.Versions[i]
		}
	}
	return nil
}

// with is a secret with one more version. With a version of the id and of this value already it is the secret as it is; with one of another value that
// is an error.
func with(ctx context.Context, r *secrets.Request, s *secret.Secret, id string, given *value, stages []string) (*secret.Secret, error) {
	if known := byID(s, id); known != nil {
		return s, same(ctx, r, s, known, given)
	}
	return r.With(ctx, s, secret.Version{ID: id, Stages: stages, Binary: given.binary}, given.text)
}

// same refuses a value that is not the one of a version.
func same(ctx context.Context, r *secrets.Request, s *secret.Secret, v *secret.Version, given *value) error {
	kept, err := r.Value(ctx, s, v)
	if err == nil && (kept != given.text || v.Binary != given.binary) {
		return wire.Errorf(exists, "A resource with the ID you requested already exists: version %s of the secret has another value, and versions do not change. Use another ClientRequestToken.", v.ID)
	}
	return err
}

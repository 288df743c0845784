package secretsmanager

import (
	"crypto/rand"
	"strings"

	"pinion/api/secrets"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// AWS's bounds.
const (
	maxName        = 512
	maxSecretID    = 2048
	maxDescription = 2048
	maxKeyID       = 2048
)

var nameText = lazyregexp.New(`^[A-Za-z0-9/_+=.@-]+$`)

// named names a secret in answers.
type named struct {
	ARN  string `json:"ARN,omitempty"`
	Name string `json:"Name"`
}

func nameOf(r *secrets.Request, s *secret.Secret) named {
	return named{s.ARN(r.Principal.Region), s.Name}
}

// parse reads a SecretId: a name, or an ARN, with or without the suffix.
func parse(id string) (name string, err error) {
	if id == "" || len(id) > maxSecretID {
		return "", errInvalid("SecretId must be the name or the ARN of a secret, of 1 to %d characters.", maxSecretID)
	}
	if !strings.HasPrefix(id, "arn:") {
		return id, nil
	}
	fields := strings.Split(id, ":")
	if len(fields) != 7 || fields[2] != Service || fields[5] != "secret" || fields[6] == "" {
		return "", errInvalid("SecretId %.300q is not the ARN of a secret: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME.", id)
	}
	return fields[6], nil
}

// find is the secret that a SecretId means. One that is to be deleted is found too.
func find(r *secrets.Request, id string) (*secret.Secret, error) {
	name, err := parse(id)
	if err != nil {
		return nil, err
	}
	if found := r.Find(store, name); found != nil {
		return found, nil
	}
	return nil, errNone
}

// checkName checks the name of a new secret by AWS's rules.
func checkName(name string) error {
	if len(name) > maxName || !nameText.MatchString(name) || strings.Trim(name, "/") == "" {
		return errInvalid("Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@, of 1 to %d characters, not %.100q.", maxName, name)
	}
	return secrets.CheckSegments(name)
}

const (
	alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	suffixLength  = 6
)

// newSuffix is what tells the ARN of a secret from that of another one with the name before it.
func newSuffix() string {
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = pick(alphanumerics)
	}
	return string(suffix)
}

// pick is one byte of a text, each with the same chance.
func pick(from string) byte {
	var b [1]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if n := int(b[0]); n < 256-256%len(from) {
			return from[n%len(from)]
		}
	}
}

// stagesOf maps the versions that have stages to these.
func stagesOf(s *secret.Secret) map[string][]string {
	stages := map[string][]string{}
	for _, v := range s.Versions {
		if len(v.Stages) > 0 {
			stages[v.ID] = v.Stages
		}
	}
	return stages
}

// hasTag reports whether a tag passes.
func hasTag(s *secret.Secret, passes func(spec.Tag) bool) bool {
	for _, tag := range s.Tags {
		if passes(tag) {
			return true
		}
	}
	return false
}

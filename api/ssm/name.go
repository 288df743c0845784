package ssm

import (
	"strings"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/valuefrom"
)

// AWS's bounds of a name.
const (
	maxName   = 1011
	maxLevels = 15
	maxNames  = 10 // in one request
)

var nameText = lazyregexp.New(`^[a-zA-Z0-9_./-]+$`)

// parse reads the name or the ARN of a parameter, with a version or a label behind a colon or without.
func parse(given string) (valuefrom.Reference, error) {
	ref, err := valuefrom.Parse(given)
	if err != nil || ref.Store != store && ref.Store != valuefrom.AnyStore {
		return ref, errInvalid("Name %.300q is neither the name of a parameter nor its ARN (arn:aws:ssm:REGION:ACCOUNT:parameter/NAME), with :VERSION or :LABEL behind it or without.", given)
	}
	ref.Store = store
	return ref, nil
}

// parseWhole is parse for what is about all versions of a parameter.
func parseWhole(given string) (name string, err error) {
	ref, err := parse(given)
	if err == nil && ref.Version != "" {
		return "", errInvalid("Name %.300q must not have a version or a label: this is about the parameter as a whole.", given)
	}
	return ref.Name, err
}

// checkName checks the name of a new parameter by AWS's rules.
func checkName(name string) error {
	key := strings.TrimPrefix(name, "/")
	lower := strings.ToLower(key)
	switch {
	case len(name) > maxName:
		return errInvalid("Parameter name: a name can have at most %d characters, not %d.", maxName, len(name))
	case !nameText.MatchString(name):
		return errInvalid("Parameter name: only a mix of letters, numbers and the following 4 symbols .-_/ is allowed, not %.300q.", name)
	case strings.HasPrefix(lower, "aws"), strings.HasPrefix(lower, "ssm"):
		return errInvalid("Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive), as %.300q is.", name)
	case strings.Contains(key, "/") && key == name:
		return errInvalid("Parameter name must be a fully qualified name: /%.300s begins with a slash.", name)
	case key == "", strings.HasSuffix(name, "/"), strings.Contains(name, "//"):
		return errInvalid("Parameter name %.300q must have something between and behind its slashes.", name)
	case strings.Count(key, "/") >= maxLevels:
		return wire.Errorf(tooManyLevels, "Parameter name: a hierarchy can have a maximum of %d levels, and %.300q has %d.", maxLevels, name, strings.Count(key, "/")+1)
	}
	return secrets.CheckSegments(name)
}

// find is the parameter that a name means.
func find(r *secrets.Request, name string) (*secret.Secret, error) {
	if found := r.Find(store, name); found != nil {
		return found, nil
	}
	return nil, errNone(name)
}

// findVersion is the version of a parameter that a reference means.
func findVersion(s *secret.Secret, ref valuefrom.Reference) (*secret.Version, error) {
	if version := s.Version(ref); version != nil {
		return version, nil
	}
	return nil, wire.Errorf(versionNotFound, "Systems Manager could not find version %.100s of %s. Verify the version and try again.", ref.Version, s.Name)
}

// numbered is the version of a parameter with a number; the newest when it is nil.
func numbered(s *secret.Secret, number *int64) (*secret.Version, error) {
	if number == nil {
		return newest(s), nil
	}
	for i := range s.Versions {
		if s.Versions[i].Number == *number {
			return &s.Versions[i], nil
		}
	}
	return nil, wire.Errorf(versionNotFound, "Systems Manager could not find version %d of %s. Verify the version and try again.", *number, s.Name)
}

func newest(s *secret.Secret) *secret.Version { return &s.Versions[len(s.Versions)-1] }

func errNone(name string) error { return wire.Errorf(notFound, "Parameter %.300s not found.", name) }

// checkNames checks how many names there are.
func checkNames(names []string) error {
	if len(names) == 0 || len(names) > maxNames {
		return errInvalid("Names must have 1 to %d items, not %d.", maxNames, len(names))
	}
	return nil
}

package secret

import (
	"bytes"
	"fmt"
	"slices"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// ErrChanged refuses a change of what was changed meanwhile: read it again.
var ErrChanged = fmt.Errorf("%w: it was changed meanwhile", spec.ErrUnavailable)

// Create records a secret. spec.ErrInUse when there is one of the name; ErrTooMany. Answer: *Secret.
type Create struct{ Secret Secret }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	if Find(tx, c.Secret.Store, c.Secret.Name) != nil {
		return nil, fmt.Errorf("%s %s: %w: there is one of that name", c.Secret.Kind(), c.Secret.Name, spec.ErrInUse)
	}
	if byName.Len(tx) >= Max {
		return nil, fmt.Errorf("%s %s: %w", c.Secret.Kind(), c.Secret.Name, ErrTooMany)
	}
	c.Secret.Revision = 1
	return put(tx, &c.Secret, nil)
}

// Replace puts a secret in the place of itself as it was when its revision was that of the given one. ErrChanged when it has another by now, or was
// deleted and created anew; spec.ErrNotFound; ErrTooMany. Answer: *Secret.
type Replace struct{ Secret Secret }

// Apply carries the command out.
func (c Replace) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Secret.Store, c.Secret.Name)
	if known == nil {
		return nil, fmt.Errorf("%s %s: %w", c.Secret.Kind(), c.Secret.Name, spec.ErrNotFound)
	}
	if !known.isOlder(&c.Secret) {
		return nil, fmt.Errorf("%s %s: %w", c.Secret.Kind(), c.Secret.Name, ErrChanged)
	}
	c.Secret.Revision++
	return put(tx, &c.Secret, known)
}

// isOlder reports whether a changed secret was made of this one as it is.
func (s *Secret) isOlder(changed *Secret) bool {
	return s.Revision == changed.Revision && s.CreatedAt.Equal(changed.CreatedAt)
}

// Delete forgets a secret with all of its versions. ErrChanged as of Replace; spec.ErrNotFound. Answer: nil.
type Delete struct {
	Secret Secret // without its versions
}

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Secret.Store, c.Secret.Name)
	switch {
	case known == nil:
		return nil, fmt.Errorf("%s %s: %w", c.Secret.Kind(), c.Secret.Name, spec.ErrNotFound)
	case !known.isOlder(&c.Secret):
		return nil, fmt.Errorf("%s %s: %w", c.Secret.Kind(), c.Secret.Name, ErrChanged)
	}
	tx.Remove(known)
	return nil, nil
}

// isSealedAs reports whether another version has the same sealed value.
func (v *Version) isSealedAs(other Version) bool {
	return v.Seal == other.Seal && bytes.Equal(v.Sealed, other.Sealed)
}

// put records a secret in the place of one, within what a pool keeps.
func put(tx command.Transaction, s, known *Secret) (any, error) {
	total := s.bytes()
	for other := range byName.All(tx) {
		if other != known {
			total += other.bytes()
		}
	}
	if total > MaxBytes && (known == nil || s.bytes() > known.bytes()) {
		return nil, fmt.Errorf("%s %s: %w", s.Kind(), s.Name, ErrTooMany)
	}
	for i := range s.Versions { // those that are there keep their sealing keys from being removed
		if v := &s.Versions[i]; known == nil || !slices.ContainsFunc(known.Versions, v.isSealedAs) {
			if err := tx.CheckSeal(v.Seal); err != nil {
				return nil, err
			}
		}
	}
	tx.Put(s)
	return s, nil
}

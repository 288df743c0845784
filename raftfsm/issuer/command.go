package issuer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/command"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	// Index has the record of the issuer.
	Index = table.By(func(*Issuer) string { return "" })
	// UsedIDTokensByHash has the ID tokens that were used.
	UsedIDTokensByHash = table.By(func(t *UsedIDToken) string { return t.Hash })
)

// Find returns the issuer of the pool, whose people may log in; nil: nobody may.
func Find(r table.Reader) *Issuer { return Index.Get(r, sortkey.Key{}) }

// ExpiredIDTokens visits the used ID tokens that were too old for another login before a moment.
func ExpiredIDTokens(r table.Reader, before time.Time) iter.Seq[*UsedIDToken] {
	return UsedIDTokensByHash.Matching(r, func(t *UsedIDToken) bool { return t.Until.Before(before) })
}

// Put records the issuer by the rules of Issuer.Replacing. Answer: *Issuer.
type Put struct{ Issuer Issuer }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	put, err := c.Issuer.Replacing(Find(tx))
	if err != nil {
		return nil, err
	}
	tx.Put(&put)
	return &put, nil
}

// Delete ends logins. The keys of earlier ones live until they expire. spec.ErrNotFound. Answer: nil.
type Delete struct{}

// Apply carries the command out.
func (Delete) Apply(tx command.Transaction) (any, error) {
	known := Find(tx)
	if known == nil {
		return nil, fmt.Errorf("an issuer: %w", spec.ErrNotFound)
	}
	tx.Remove(known)
	return nil, nil
}

// Login records the access key of a person whom the issuer vouches for, with the rights of the groups among Key.Login.Groups that are mapped, and
// the issuer's lifetime from Key.CreatedAt on. The caller has verified the ID token. spec.ErrNotFound when the issuer is not that of the pool,
// ErrNoRights, spec.ErrInUse for an ID token that was used and for a name under which another account of the issuer is logged in, spec.ErrLimit.
// Answer: *accesskey.Key.
type Login struct {
	Key        accesskey.Key
	ClientID   string    // that the ID token is for
	TokenHash  string    // of the ID token
	TokenUntil time.Time // when the ID token is too old for another login
}

// Apply carries the command out.
func (c Login) Apply(tx command.Transaction) (any, error) {
	if c.Key.Login == nil {
		return nil, fmt.Errorf("access key %s is of no login", c.Key.ID)
	}
	from, login := Find(tx), *c.Key.Login
	if from == nil || from.URL != login.Issuer || from.ClientID != c.ClientID {
		return nil, fmt.Errorf("the issuer %s: %w in this pool: an administrator has changed it (`pinion oidc show`)", login.Issuer, spec.ErrNotFound)
	}
	if UsedIDTokensByHash.Get(tx, sortkey.Key{First: c.TokenHash}) != nil || credential.Find(tx, c.Key.ID) != nil {
		return nil, fmt.Errorf("the ID token: %w: somebody has logged in with it already; log in anew", spec.ErrInUse)
	}
	rights, groups, err := from.Rights(login.Groups)
	if err := cmp.Or(err, tx.CheckSeal(c.Key.Seal)); err != nil {
		return nil, err
	}
	if err := c.removeOldest(tx); err != nil {
		return nil, err
	}
	key := c.Key
	key.Role, key.Cluster, key.Grant = rights.Role, rights.Cluster, rights.Grant
	login.Groups, login.Expires = groups, key.CreatedAt.Add(from.Lifetime)
	key.Login = &login
	tx.Put(&UsedIDToken{Hash: c.TokenHash, Until: c.TokenUntil})
	tx.Put(&key)
	return &key, nil
}

// removeOldest removes the oldest keys of the person beyond MaxKeysOfPerson. spec.ErrInUse, spec.ErrLimit.
func (c Login) removeOldest(tx command.Transaction) error {
	login, live := c.Key.Login, credential.OfPerson(tx, c.Key.Login.Person)
	if slices.ContainsFunc(live, func(k *accesskey.Key) bool {
		return k.Login.Issuer == login.Issuer && k.Login.Subject != login.Subject && !k.Expired(c.Key.CreatedAt)
	}) {
		return fmt.Errorf("%s: %w: another account of the issuer has this name, and an access key: an administrator chooses a claim that names each person differently (`pinion oidc set --user-claim sub`), or removes the key",
			login.Person, spec.ErrInUse)
	}
	for _, key := range live[:max(0, len(live)-MaxKeysOfPerson+1)] {
		tx.Remove(key)
	}
	if len(slices.Collect(credential.OfLogins(tx))) >= MaxKeys {
		return fmt.Errorf("%w: the pool has %d access keys of people who have logged in: wait until some have expired, or remove some (`pinion keys rm`)", spec.ErrLimit, MaxKeys)
	}
	return nil
}

package raftfsm

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/taskrole"
)

var (
	tableIssuer = register(noun[issuer.Issuer]{
		table: "issuer", indexes: []*table.Index[issuer.Issuer]{issuerIndex},
		commands:  []kind{kindOf[PutIssuer](70, 1), kindOf[DeleteIssuer](71, 1)},
		noChanges: "only administrators may see it", noExpiry: "it is one record",
	})
	issuerIndex = table.By(func(*issuer.Issuer) string { return "" })

	tableUsedIDTokens = register(noun[issuer.UsedIDToken]{
		table: "usedIdTokens", indexes: []*table.Index[issuer.UsedIDToken]{usedIDTokensByHash},
		commands:  []kind{kindOf[Login](72, 1)},
		noChanges: "the key that it was used for is told to nobody either",
		expired: func(v *View, r Reap) iter.Seq[*issuer.UsedIDToken] {
			return usedIDTokensByHash.Matching(v, func(t *issuer.UsedIDToken) bool { return t.Until.Before(r.Before) })
		},
	})
	usedIDTokensByHash = table.By(func(t *issuer.UsedIDToken) string { return t.Hash })
)

// Issuer is whose people may log in; nil: nobody may.
func (v *View) Issuer() *issuer.Issuer { return issuerIndex.Get(v, sortkey.Key{}) }

// KeyOfHolder is the access key whose limits count for a holder: of a person the one that lives longest. Nil when there is none.
func (v *View) KeyOfHolder(holder string) *accesskey.Key {
	if person, is := strings.CutPrefix(holder, accesskey.PersonHolder); is {
		return accessKeysByPerson.Last(v, person)
	}
	return cmp.Or(taskrole.OfHolder(v, holder), v.AccessKey(holder))
}

// PutIssuer records the issuer by the rules of Issuer.Replacing. Answer: *Issuer.
type PutIssuer struct{ Issuer issuer.Issuer }

func (c PutIssuer) apply(tx *tx) (any, error) {
	put, err := c.Issuer.Replacing(tx.Issuer())
	if err != nil {
		return nil, err
	}
	tx.put(tableIssuer, &put)
	return &put, nil
}

// DeleteIssuer ends logins. The keys of earlier ones live until they expire. ErrNotFound. Answer: nil.
type DeleteIssuer struct{}

func (DeleteIssuer) apply(tx *tx) (any, error) {
	known := tx.Issuer()
	if known == nil {
		return nil, fmt.Errorf("an issuer: %w", spec.ErrNotFound)
	}
	tx.remove(tableIssuer, known)
	return nil, nil
}

// Login records the access key of a person whom the issuer vouches for, with the rights of the groups among Key.Login.Groups that are mapped, and
// the issuer's lifetime from Key.CreatedAt on. The caller has verified the ID token. ErrNotFound when the issuer is not that of the pool,
// issuer.ErrNoRights, ErrInUse for an ID token that was used and for a name under which another account of the issuer is logged in, ErrLimit.
// Answer: *AccessKey.
type Login struct {
	Key        accesskey.Key
	ClientID   string    // that the ID token is for
	TokenHash  string    // of the ID token
	TokenUntil time.Time // when the ID token is too old for another login
}

func (c Login) apply(tx *tx) (any, error) {
	if c.Key.Login == nil {
		return nil, fmt.Errorf("access key %s is of no login", c.Key.ID)
	}
	from, login := tx.Issuer(), *c.Key.Login
	if from == nil || from.URL != login.Issuer || from.ClientID != c.ClientID {
		return nil, fmt.Errorf("the issuer %s: %w in this pool: an administrator has changed it (`pinion oidc show`)", login.Issuer, spec.ErrNotFound)
	}
	if usedIDTokensByHash.Get(&tx.View, sortkey.Key{First: c.TokenHash}) != nil || tx.AccessKey(c.Key.ID) != nil {
		return nil, fmt.Errorf("the ID token: %w: somebody has logged in with it already; log in anew", spec.ErrInUse)
	}
	rights, groups, err := from.Rights(login.Groups)
	if err := cmp.Or(err, tx.CheckSeal(c.Key.Seal)); err != nil {
		return nil, err
	}
	live := accessKeysByPerson.List(&tx.View, login.Person)
	if slices.ContainsFunc(live, func(k *accesskey.Key) bool {
		return k.Login.Issuer == login.Issuer && k.Login.Subject != login.Subject && !k.Expired(c.Key.CreatedAt)
	}) {
		return nil, fmt.Errorf("%s: %w: another account of the issuer has this name, and an access key: an administrator chooses a claim that names each person differently (`pinion oidc set --user-claim sub`), or removes the key",
			login.Person, spec.ErrInUse)
	}
	for _, key := range live[:max(0, len(live)-issuer.MaxKeysOfPerson+1)] {
		tx.remove(tableAccessKeys, key)
	}
	if len(slices.Collect(accessKeysByPerson.All(&tx.View))) >= issuer.MaxKeys {
		return nil, fmt.Errorf("%w: the pool has %d access keys of people who have logged in: wait until some have expired, or remove some (`pinion keys rm`)", spec.ErrLimit, issuer.MaxKeys)
	}
	key := c.Key
	key.Role, key.Cluster, key.Grant = rights.Role, rights.Cluster, rights.Grant
	login.Groups, login.Expires = groups, key.CreatedAt.Add(from.Lifetime)
	key.Login = &login
	tx.put(tableUsedIDTokens, &issuer.UsedIDToken{Hash: c.TokenHash, Until: c.TokenUntil})
	tx.put(tableAccessKeys, &key)
	return &key, nil
}

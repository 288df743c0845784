package jointoken_test

import (
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

// newToken lets uses hosts in within the first hour; its secret's hash is "hash of " + id.
func newToken(id string, uses int) jointoken.Token {
	return jointoken.Token{ID: id, SecretHash: "hash of " + id, Role: "host", Uses: uses, CreatedAt: raftfsmtest.Epoch, Expires: raftfsmtest.At(60)}
}

func listed(s *raftfsmtest.State) []string {
	found := []string{}
	for _, token := range jointoken.All(s.View()) {
		found = append(found, token.ID)
	}
	return found
}

func TestATokenIsRecordedAsNew(t *testing.T) {
	s := raftfsmtest.New(t)
	forged := newToken("a", 2)
	forged.Used, forged.Revoked, forged.EndedAt = 1, true, raftfsmtest.At(1)
	if got := raftfsmtest.Change(s, jointoken.Create{Token: forged}).(*jointoken.Token); *got != newToken("a", 2) {
		t.Errorf("%+v", got)
	}
	before := jointoken.Find(s.View(), "a")
	raftfsmtest.Change(s, jointoken.Create{Token: newToken("a", 2)})
	if jointoken.Find(s.View(), "a") != before {
		t.Error("the same token again changed something")
	}
	other := newToken("a", 2)
	other.SecretHash = "another"
	raftfsmtest.Refuse(s, jointoken.Create{Token: other}, spec.ErrInUse)
}

func TestATokenThatLetsNobodyInIsRefused(t *testing.T) {
	spoil := map[string]func(*jointoken.Token){
		"no id":                 func(t *jointoken.Token) { t.ID = "" },
		"no secret":             func(t *jointoken.Token) { t.SecretHash = "" },
		"no uses":               func(t *jointoken.Token) { t.Uses = 0 },
		"over before it begins": func(t *jointoken.Token) { t.Expires = t.CreatedAt },
	}
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			token := newToken("a", 1)
			change(&token)
			if _, err := raftfsmtest.New(t).Try(raftfsm.Wrap(jointoken.Create{Token: token})); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestARevokedTokenIsRememberedButNotListed(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, jointoken.Create{Token: newToken("a", 1)})
	raftfsmtest.Change(s, jointoken.Create{Token: newToken("b", 1)})
	if got := raftfsmtest.Change(s, jointoken.Revoke{ID: "a", At: raftfsmtest.At(1)}).(*jointoken.Token); !got.Revoked || !got.EndedAt.Equal(raftfsmtest.At(1)) {
		t.Errorf("%+v", got)
	}
	if again := raftfsmtest.Change(s, jointoken.Revoke{ID: "a", At: raftfsmtest.At(2)}).(*jointoken.Token); !again.EndedAt.Equal(raftfsmtest.At(1)) {
		t.Errorf("revoked again: %+v", again)
	}
	if got := listed(s); !slices.Equal(got, []string{"b"}) || jointoken.Find(s.View(), "a") == nil {
		t.Errorf("listed: %v", got)
	}
	raftfsmtest.Refuse(s, jointoken.Revoke{ID: "none"}, spec.ErrNotFound)
}

func TestAListCanSayWhyATokenIsWorthNothing(t *testing.T) {
	fresh, used, revoked := newToken("a", 1), newToken("b", 1), newToken("c", 1)
	used.Used, revoked.Revoked = 1, true
	cases := []struct {
		name   string
		token  jointoken.Token
		minute int
		want   error
	}{
		{"good", fresh, 59, nil},
		{"expired", fresh, 60, jointoken.ErrExpired},
		{"used up", used, 1, jointoken.ErrUsedUp},
		{"used up and expired", used, 99, jointoken.ErrExpired},
		{"revoked", revoked, 99, jointoken.ErrRevoked},
	}
	for _, c := range cases {
		if err := c.token.Refusal(raftfsmtest.At(c.minute)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

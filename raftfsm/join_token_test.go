package raftfsm

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// joinToken lets uses hosts in within the first hour; its secret's hash is "hash of " + id.
func joinToken(id string, uses int) jointoken.Token {
	return jointoken.Token{ID: id, SecretHash: "hash of " + id, Role: "host", Uses: uses, CreatedAt: epoch, Expires: at(60)}
}

func tokenIDs(v *View) []string {
	found := []string{}
	for _, token := range jointoken.All(v) {
		found = append(found, token.ID)
	}
	return found
}

func TestATokenIsRecordedAsNew(t *testing.T) {
	h := newHistory(t)
	forged := joinToken("a", 2)
	forged.Used, forged.Revoked, forged.EndedAt = 1, true, at(1)
	if got := h.do(t, Wrap(jointoken.Create{Token: forged})).(*jointoken.Token); *got != joinToken("a", 2) {
		t.Errorf("%+v", got)
	}
	before := h.snapshot(t)
	h.do(t, Wrap(jointoken.Create{Token: joinToken("a", 2)}))
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("the same token again changed something")
	}
	other := joinToken("a", 2)
	other.SecretHash = "another"
	if _, err := h.try(t, Wrap(jointoken.Create{Token: other})); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("another secret under the same id: %v", err)
	}
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
			token := joinToken("a", 1)
			change(&token)
			if _, err := newHistory(t).try(t, Wrap(jointoken.Create{Token: token})); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestARevokedTokenIsRememberedButNotListed(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(jointoken.Create{Token: joinToken("a", 1)}))
	h.do(t, Wrap(jointoken.Create{Token: joinToken("b", 1)}))
	if got := h.do(t, Wrap(jointoken.Revoke{ID: "a", At: at(1)})).(*jointoken.Token); !got.Revoked || !got.EndedAt.Equal(at(1)) {
		t.Errorf("%+v", got)
	}
	if again := h.do(t, Wrap(jointoken.Revoke{ID: "a", At: at(2)})).(*jointoken.Token); !again.EndedAt.Equal(at(1)) {
		t.Errorf("revoked again: %+v", again)
	}
	if got := tokenIDs(h.View()); !slices.Equal(got, []string{"b"}) || jointoken.Find(h.View(), "a") == nil {
		t.Errorf("listed: %v", got)
	}
	if _, err := h.try(t, Wrap(jointoken.Revoke{ID: "none"})); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestAListCanSayWhyATokenIsWorthNothing(t *testing.T) {
	fresh, used, revoked := joinToken("a", 1), joinToken("b", 1), joinToken("c", 1)
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
		if err := c.token.Refusal(at(c.minute)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTokensAreForgottenSomeTimeAfterTheirEnd(t *testing.T) {
	h := newHistory(t)
	for _, id := range []string{"expired", "revoked", "used"} {
		h.do(t, Wrap(jointoken.Create{Token: joinToken(id, 1)}))
	}
	h.do(t, Wrap(jointoken.Revoke{ID: "revoked", At: at(30)}))
	h.do(t, admit("h2", "key", "used", 20))
	steps := []struct {
		before int
		known  []string
	}{
		{20, []string{"expired", "revoked", "used"}},
		{21, []string{"expired", "revoked"}},
		{31, []string{"expired"}},
		{60, []string{"expired"}},
		{61, nil},
	}
	for _, step := range steps {
		h.do(t, Reap{TokensBefore: at(step.before)})
		var known []string
		for _, id := range []string{"expired", "revoked", "used"} {
			if jointoken.Find(h.View(), id) != nil {
				known = append(known, id)
			}
		}
		if !slices.Equal(known, step.known) {
			t.Errorf("ended before minute %d forgotten: %v are known, want %v", step.before, known, step.known)
		}
	}
	if h.View().Admission("h2") == nil {
		t.Error("the host was forgotten with its token")
	}
}

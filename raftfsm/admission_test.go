package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// joinToken lets uses hosts in within the first hour; its secret's hash is "hash of " + id.
func joinToken(id string, uses int) jointoken.Token {
	return jointoken.Token{ID: id, SecretHash: "hash of " + id, Role: "host", Uses: uses, CreatedAt: epoch, Expires: at(60)}
}

// admit asks for a host's admission with the right secret of the token.
func admit(host, key, token string, minute int) AdmitHost {
	return AdmitHost{HostID: host, Key: key, TokenID: token, SecretHash: "hash of " + token, At: at(minute)}
}

func TestATokenLetsAsManyHostsInAsItSays(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(jointoken.Create{Token: joinToken("a", 2)}))
	for i := range 2 {
		id := fmt.Sprint("new", i)
		admitted := h.do(t, admit(id, "key", "a", i)).(*spec.Admission)
		if want := (spec.Admission{HostID: id, PublicKeyHash: "key", TokenID: "a", At: at(i)}); !reflect.DeepEqual(*admitted, want) || !reflect.DeepEqual(*h.View().Admission(id), want) {
			t.Errorf("%+v", admitted)
		}
	}
	if token := jointoken.Find(h.View(), "a"); token.Used != 2 || !token.EndedAt.Equal(at(1)) {
		t.Errorf("%+v", token)
	}
	if _, err := h.try(t, admit("new3", "key", "a", 3)); !errors.Is(err, jointoken.ErrUsedUp) {
		t.Errorf("the third: %v", err)
	}
}

func TestEachRefusalOfATokenHasItsOwnWords(t *testing.T) {
	wrong := admit("new", "key", "good", 1)
	wrong.SecretHash = "guessed"
	wrongAndRevoked := admit("new", "key", "revoked", 1)
	wrongAndRevoked.SecretHash = "guessed"
	cases := []struct {
		name    string
		command AdmitHost
		want    error
		words   string
	}{
		{"unknown", admit("new", "key", "none", 1), jointoken.ErrUnknown, "has not made such a join token"},
		{"wrong", wrong, jointoken.ErrWrong, "secret of the join token is wrong"},
		{"who does not have the secret learns nothing else", wrongAndRevoked, jointoken.ErrWrong, "secret of the join token is wrong"},
		{"revoked", admit("new", "key", "revoked", 1), jointoken.ErrRevoked, "was revoked: make a new one with `pinion token` (at 2026-01-02T03:05:05Z)"},
		{"expired", admit("new", "key", "good", 60), jointoken.ErrExpired, "has expired"},
		{"used up", admit("new", "key", "used", 1), jointoken.ErrUsedUp, "is used up: make a new one with `pinion token` (1 of 1)"},
		{"removed host", admit("gone", "key", "good", 1), spec.ErrRemoved, "pinion down --purge"},
		{"another's name", admit("h1", "key", "good", 1), spec.ErrInUse, "belongs to the pool with another key"},
		{"another's name, admitted", admit("old", "other key", "good", 1), spec.ErrInUse, "belongs to the pool with another key"},
		{"no name", admit("", "key", "good", 1), nil, "its id and its public key"},
		{"no key", admit("new", "", "good", 1), nil, "its id and its public key"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := admitting(t)
			before := h.snapshot(t)
			_, err := h.try(t, c.command)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v", err)
			}
			if !bytes.Equal(before, h.snapshot(t)) {
				t.Error("the state changed")
			}
		})
	}
}

// admitting has the token good, used (up, by host "old"), revoked, and the removed host "gone".
func admitting(t tester) *history {
	h := newHistory(t)
	for _, id := range []string{"used", "revoked"} {
		h.do(t, Wrap(jointoken.Create{Token: joinToken(id, 1)}))
	}
	h.do(t, Wrap(jointoken.Create{Token: joinToken("good", 9)}))
	h.do(t, admit("old", "key", "used", 0))
	h.do(t, admit("gone", "key", "good", 0))
	h.do(t, RemoveHost{ID: "gone"})
	h.do(t, Wrap(jointoken.Revoke{ID: "revoked", At: at(1)}))
	return h
}

func TestAHostWhoseAnswerWasLostIsLetInAgain(t *testing.T) {
	h := admitting(t)
	before := h.snapshot(t)
	if again, err := h.try(t, admit("old", "key", "used", 5)); err != nil || !again.(*spec.Admission).At.Equal(at(0)) {
		t.Errorf("%+v, %v", again, err)
	}
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("it counted twice")
	}
	if _, err := h.try(t, admit("old", "key", "used", 60)); !errors.Is(err, jointoken.ErrExpired) {
		t.Errorf("later than the token: %v", err)
	}
	h.do(t, Wrap(jointoken.Revoke{ID: "used", At: at(6)}))
	if _, err := h.try(t, admit("old", "key", "used", 7)); !errors.Is(err, jointoken.ErrRevoked) {
		t.Errorf("after the token was revoked: %v", err)
	}
}

func TestAHostMayComeBackWithAnotherToken(t *testing.T) {
	h := admitting(t)
	used := jointoken.Find(h.View(), "good").Used
	if got := h.do(t, admit("old", "key", "good", 5)).(*spec.Admission); got.TokenID != "good" {
		t.Errorf("%+v", got)
	}
	if jointoken.Find(h.View(), "good").Used != used+1 {
		t.Error("the token was not used")
	}
}

// The host that began the pool needed no token, and is known by its key like all others.
func TestAFounderIsKnownByItsKey(t *testing.T) {
	h := admitting(t)
	founder := func(host, key string) AdmitBootstrapHost {
		return AdmitBootstrapHost{spec.Admission{HostID: host, PublicKeyHash: key, At: at(5), Names: []string{"gpu-1"}}}
	}
	if got := h.do(t, founder("h1", "key")).(*spec.Admission); got.PublicKeyHash != "key" || h.View().Admission("h1") == nil {
		t.Errorf("%+v", got)
	}
	h.do(t, founder("h1", "key"))
	for name, c := range map[string]Command{
		"another key": founder("h1", "other"), "a host that joined": founder("old", "other"), "another key, with a token": admit("h1", "other", "good", 6),
	} {
		if _, err := h.try(t, c); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.try(t, founder("gone", "key")); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("a removed host: %v", err)
	}
	h.do(t, admit("h1", "key", "good", 6))
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

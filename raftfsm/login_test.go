package raftfsm

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// putIssuer records an issuer of whose people the group lab may submit, with two tasks for each person.
func putIssuer(t *testing.T, h *history) issuer.Issuer {
	t.Helper()
	i := issuer.Issuer{URL: "https://idp.example.com", ClientID: "pinion", Version: 1, Groups: []issuer.Group{
		{Name: "lab", Rights: accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "default", Grant: accesskey.Grant{MaxTasks: 2}}},
	}}.Or()
	return *h.do(t, PutIssuer{i}).(*issuer.Issuer)
}

func loginOf(n int, at time.Time) Login {
	return Login{
		Key: accesskey.Key{ID: fmt.Sprint("AKIA", n), Sealed: []byte("s"), Seal: "k", CreatedAt: at,
			Login: &accesskey.Login{Person: "alice@example.com", Subject: "1", Issuer: "https://idp.example.com", Groups: []string{"lab", "others"}}},
		ClientID: "pinion", TokenHash: fmt.Sprint("token", n), TokenUntil: at.Add(12 * time.Minute),
	}
}

func TestALoginGivesAKeyWithTheRightsOfItsGroupUntilItExpires(t *testing.T) {
	h := newHistory(t)
	if _, err := h.try(t, loginOf(1, epoch)); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("without an issuer: %v", err)
	}
	putIssuer(t, h)
	key := h.do(t, loginOf(1, epoch)).(*accesskey.Key)
	if key.Role != accesskey.RoleSubmit || key.Cluster != "default" || key.Grant.MaxTasks != 2 || !key.Login.Expires.Equal(epoch.Add(issuer.DefaultLifetime)) ||
		len(key.Login.Groups) != 1 || key.Expired(key.Login.Expires.Add(-1)) || !key.Expired(key.Login.Expires) {
		t.Errorf("%+v %+v", key, key.Login)
	}
	for what, change := range map[string]func(*Login){
		"the same token":      func(l *Login) { l.TokenHash = "token1" },
		"another issuer":      func(l *Login) { l.Key.Login.Issuer = "https://idp.example.org" },
		"another client":      func(l *Login) { l.ClientID = "other" },
		"no mapped group":     func(l *Login) { l.Key.Login.Groups = []string{"others"} },
		"a key that there is": func(l *Login) { l.Key.ID = "AKIA1" },
	} {
		login := loginOf(2, at(1))
		if change(&login); true {
			if got, err := h.try(t, login); err == nil {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
	h.do(t, Reap{Before: key.Login.Expires.Add(-time.Second)})
	if h.View().AccessKey("AKIA1") == nil {
		t.Error("it is reaped before it expires")
	}
	if reap := (Reap{Before: key.Login.Expires}); !h.View().HasExpired(reap) {
		t.Error("nobody would reap it")
	} else if h.do(t, reap); h.View().AccessKey("AKIA1") != nil {
		t.Error("it is there for ever")
	}
}

// A token is used once, also when its key was removed meanwhile.
func TestATokenOfARemovedKeyGivesNoOther(t *testing.T) {
	h := newHistory(t)
	putIssuer(t, h)
	h.do(t, loginOf(1, epoch))
	h.do(t, DeleteAccessKey{"AKIA1"})
	again := loginOf(2, at(1))
	again.TokenHash = "token1"
	if _, err := h.try(t, again); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("%v", err)
	}
}

func TestAPersonHasABoundedNumberOfKeys(t *testing.T) {
	h := newHistory(t)
	putIssuer(t, h)
	for n := range 2 * issuer.MaxKeysOfPerson {
		h.do(t, loginOf(n, at(n)))
	}
	if keys := h.View().AccessKeys(); len(keys) != issuer.MaxKeysOfPerson || h.View().AccessKey("AKIA9") == nil || h.View().AccessKey("AKIA4") != nil {
		t.Errorf("%d keys", len(keys))
	}
}

// Whoever logs in again has what is left of the limits, not all of them anew.
// Who may choose the name in their ID token does not become somebody else: not in the audit log, not in the limits, and they end no key of theirs.
func TestTwoAccountsOfTheIssuerAreNotOnePerson(t *testing.T) {
	h := newHistory(t)
	putIssuer(t, h)
	h.do(t, loginOf(1, epoch))
	for n := 2; n < 3+issuer.MaxKeysOfPerson; n++ {
		other := loginOf(n, at(1))
		other.Key.Login.Subject = "2"
		if key, err := h.try(t, other); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%v, %v", key, err)
		}
	}
	if h.View().AccessKey("AKIA1") == nil {
		t.Error("the key of the first account is gone")
	}
	late := loginOf(20, epoch.Add(issuer.DefaultLifetime))
	late.Key.Login.Subject = "2"
	h.do(t, late) // nobody is logged in under the name any more
}

func TestLimitsCountForAPersonWhateverTheKey(t *testing.T) {
	h := newHistory(t)
	putIssuer(t, h)
	one := func(n int) error {
		launched := task(fmt.Sprint("t", n), "h1")
		launched.Owner = &spec.TaskOwner{Key: h.do(t, loginOf(n, at(n))).(*accesskey.Key).Holder()}
		return h.View().CheckTasks(launched.Cluster, launched.Owner.Key, launched.Tally())
	}
	for n := range 2 {
		if err := one(n); err != nil {
			t.Fatal(err)
		}
		launched := task(fmt.Sprint("t", n), "h1")
		launched.Owner = &spec.TaskOwner{Key: "login/alice@example.com"}
		h.launch(t, Launch{Tasks: []*spec.Task{launched}})
	}
	if err := one(3); !errors.Is(err, spec.ErrLimit) {
		t.Errorf("%v", err)
	}
}

func TestAnotherIssuerBeginsWithoutGroups(t *testing.T) {
	h := newHistory(t)
	first := putIssuer(t, h)
	h.do(t, loginOf(1, epoch))
	if _, err := h.try(t, PutIssuer{first}); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("a change of what was changed meanwhile: %v", err)
	}
	second := first
	second.URL, second.Version = "https://idp.example.org", 2
	if got := h.do(t, PutIssuer{second}).(*issuer.Issuer); len(got.Groups) != 0 {
		t.Errorf("%+v", got.Groups)
	}
	h.do(t, DeleteIssuer{})
	if h.View().Issuer() != nil || h.View().AccessKey("AKIA1") == nil {
		t.Error("the issuer stays, or the key of an earlier login goes with it")
	}
}

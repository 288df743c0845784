package issuer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

// putIssuer records an issuer of whose people the group lab may submit, with two tasks for each person.
func putIssuer(t *testing.T, h *raftfsmtest.State) issuer.Issuer {
	t.Helper()
	i := issuer.Issuer{URL: "https://idp.example.com", ClientID: "pinion", Version: 1, Groups: []issuer.Group{
		{Name: "lab", Rights: accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "default", Grant: accesskey.Grant{MaxTasks: 2}}},
	}}.Or()
	return *raftfsmtest.Change(h, issuer.Put{Issuer: i}).(*issuer.Issuer)
}

func loginOf(n int, at time.Time) issuer.Login {
	return issuer.Login{
		Key: accesskey.Key{ID: fmt.Sprint("AKIA", n), Sealed: []byte("s"), Seal: "k", CreatedAt: at,
			Login: &accesskey.Login{Person: "alice@example.com", Subject: "1", Issuer: "https://idp.example.com", Groups: []string{"lab", "others"}}},
		ClientID: "pinion", TokenHash: fmt.Sprint("token", n), TokenUntil: at.Add(12 * time.Minute),
	}
}

func TestALoginGivesAKeyWithTheRightsOfItsGroupUntilItExpires(t *testing.T) {
	h := raftfsmtest.New(t)
	if _, err := h.Try(raftfsm.Wrap(loginOf(1, raftfsmtest.Epoch))); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("without an issuer: %v", err)
	}
	putIssuer(t, h)
	key := raftfsmtest.Change(h, loginOf(1, raftfsmtest.Epoch)).(*accesskey.Key)
	if key.Role != accesskey.RoleSubmit || key.Cluster != "default" || key.Grant.MaxTasks != 2 || !key.Login.Expires.Equal(raftfsmtest.Epoch.Add(issuer.DefaultLifetime)) ||
		len(key.Login.Groups) != 1 || key.Expired(key.Login.Expires.Add(-1)) || !key.Expired(key.Login.Expires) {
		t.Errorf("%+v %+v", key, key.Login)
	}
	for what, change := range map[string]func(*issuer.Login){
		"the same token":      func(l *issuer.Login) { l.TokenHash = "token1" },
		"another issuer":      func(l *issuer.Login) { l.Key.Login.Issuer = "https://idp.example.org" },
		"another client":      func(l *issuer.Login) { l.ClientID = "other" },
		"no mapped group":     func(l *issuer.Login) { l.Key.Login.Groups = []string{"others"} },
		"a key that there is": func(l *issuer.Login) { l.Key.ID = "AKIA1" },
	} {
		login := loginOf(2, raftfsmtest.At(1))
		if change(&login); true {
			if got, err := h.Try(raftfsm.Wrap(login)); err == nil {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
	h.Do(raftfsm.Reap{Before: key.Login.Expires.Add(-time.Second)})
	if h.View().AccessKey("AKIA1") == nil {
		t.Error("it is reaped before it expires")
	}
	if reap := (raftfsm.Reap{Before: key.Login.Expires}); !h.View().HasExpired(reap) {
		t.Error("nobody would reap it")
	} else if h.Do(reap); h.View().AccessKey("AKIA1") != nil {
		t.Error("it is there for ever")
	}
}

// A token is used once, also when its key was removed meanwhile.
func TestATokenOfARemovedKeyGivesNoOther(t *testing.T) {
	h := raftfsmtest.New(t)
	putIssuer(t, h)
	raftfsmtest.Change(h, loginOf(1, raftfsmtest.Epoch))
	raftfsmtest.Change(h, credential.Delete{ID: "AKIA1"})
	again := loginOf(2, raftfsmtest.At(1))
	again.TokenHash = "token1"
	if _, err := h.Try(raftfsm.Wrap(again)); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("%v", err)
	}
}

func TestAPersonHasABoundedNumberOfKeys(t *testing.T) {
	h := raftfsmtest.New(t)
	putIssuer(t, h)
	for n := range 2 * issuer.MaxKeysOfPerson {
		raftfsmtest.Change(h, loginOf(n, raftfsmtest.At(n)))
	}
	if keys := credential.All(h.View()); len(keys) != issuer.MaxKeysOfPerson || h.View().AccessKey("AKIA9") == nil || h.View().AccessKey("AKIA4") != nil {
		t.Errorf("%d keys", len(keys))
	}
}

// Who may choose the name in their ID token does not become somebody else: not in the audit log, not in the limits, and they end no key of theirs.
func TestTwoAccountsOfTheIssuerAreNotOnePerson(t *testing.T) {
	h := raftfsmtest.New(t)
	putIssuer(t, h)
	raftfsmtest.Change(h, loginOf(1, raftfsmtest.Epoch))
	for n := 2; n < 3+issuer.MaxKeysOfPerson; n++ {
		other := loginOf(n, raftfsmtest.At(1))
		other.Key.Login.Subject = "2"
		if key, err := h.Try(raftfsm.Wrap(other)); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%v, %v", key, err)
		}
	}
	if h.View().AccessKey("AKIA1") == nil {
		t.Error("the key of the first account is gone")
	}
	late := loginOf(20, raftfsmtest.Epoch.Add(issuer.DefaultLifetime))
	late.Key.Login.Subject = "2"
	raftfsmtest.Change(h, late) // nobody is logged in under the name any more
}

func TestAnotherIssuerBeginsWithoutGroups(t *testing.T) {
	h := raftfsmtest.New(t)
	first := putIssuer(t, h)
	raftfsmtest.Change(h, loginOf(1, raftfsmtest.Epoch))
	if _, err := h.Try(raftfsm.Wrap(issuer.Put{Issuer: first})); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("a change of what was changed meanwhile: %v", err)
	}
	second := first
	second.URL, second.Version = "https://idp.example.org", 2
	if got := raftfsmtest.Change(h, issuer.Put{Issuer: second}).(*issuer.Issuer); len(got.Groups) != 0 {
		t.Errorf("%+v", got.Groups)
	}
	raftfsmtest.Change(h, issuer.Delete{})
	if issuer.Find(h.View()) != nil || h.View().AccessKey("AKIA1") == nil {
		t.Error("the issuer stays, or the key of an earlier login goes with it")
	}
}

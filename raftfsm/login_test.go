package raftfsm

import (
	"errors"
	"fmt"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// Whoever logs in again has what is left of the limits, not all of them anew.
func TestLimitsCountForAPersonWhateverTheKey(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(issuer.Put{Issuer: issuer.Issuer{URL: "https://idp.example.com", ClientID: "pinion", Version: 1, Groups: []issuer.Group{
		{Name: "lab", Rights: accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "default", Grant: accesskey.Grant{MaxTasks: 2}}},
	}}.Or()}))
	one := func(n int) error {
		launched := task(fmt.Sprint("t", n), "h1")
		login := issuer.Login{Key: accesskey.Key{ID: fmt.Sprint("AKIA", n), Sealed: []byte("s"), Seal: "k", CreatedAt: at(n),
			Login: &accesskey.Login{Person: "alice@example.com", Subject: "1", Issuer: "https://idp.example.com", Groups: []string{"lab"}}},
			ClientID: "pinion", TokenHash: fmt.Sprint("token", n), TokenUntil: at(n + 12)}
		launched.Owner = &spec.TaskOwner{Key: h.do(t, Wrap(login)).(*accesskey.Key).Owner()}
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

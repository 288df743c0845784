package raftfsm

import (
	"time"

	"fmt"

	"pgregory.net/rapid"

	"pinion/raftfsm/ca"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// ofPool is a command about the pool itself: who belongs to it, and what is lost.
func (w *model) ofPool(r *rapid.T) Command {
	token := pick(r, "a", "b")
	host := pick(r, "h1", "h2", "h3", "h4")
	return pick[Command](r,
		MarkHostLost{ID: host, At: w.moment(r), Keep: []string{w.task(r), w.task(r)}},
		MarkHostLost{ID: host, At: w.moment(r)},
		SetHostStatus{host, pick(r, spec.HostActive, spec.HostActive, spec.HostDraining, "GONE"), pick(r, nil, &spec.HostDrain{At: w.moment(r), After: time.Hour, Kill: true})},
		SetServerRole{host, rapid.Bool().Draw(r, "server")},
		Wrap(jointoken.Create{Token: joinToken(token, rapid.IntRange(0, 3).Draw(r, "uses"))}),
		admitWith(r, host, token, w.moment(r).Sub(epoch).Minutes()),
		admitWith(r, pick(r, "n1", "n2", "n3"), token, w.moment(r).Sub(epoch).Minutes()),
		AdmitBootstrapHost{spec.Admission{HostID: host, PublicKeyHash: pick(r, "k1", "k2")}},
		Wrap(jointoken.Revoke{ID: token, At: w.moment(r)}),
		RemoveHost{ID: pick(r, "h3", "h4", "n1", "n2"), Force: rapid.Bool().Draw(r, "force"), At: w.moment(r)},
		PutSettings{spec.Settings{Servers: rapid.IntRange(0, 5).Draw(r, "servers"), Incarnation: rapid.IntRange(0, 4).Draw(r, "incarnation")}},
		Wrap(ca.Put{Authority: spec.CA{Certificate: []byte(pick(r, "x", "y"))}}),
	)
}

func admitWith(r *rapid.T, host, token string, minute float64) AdmitHost {
	c := admit(host, pick(r, "k1", "k1", "k2"), token, int(minute))
	c.SecretHash = pick(r, c.SecretHash, c.SecretHash, c.SecretHash, "guessed")
	return c
}

// checkPool: who is removed stays so, a token gives no more than it has, a host's name stays with its key.
func (w *model) checkPool(before, after *View) {
	for _, gone := range before.RemovedHosts() {
		if !after.Removed(gone.ID) || after.Host(gone.ID) != nil || after.Admission(gone.ID) != nil {
			w.Fatalf("%s was removed and is back", gone.ID)
		}
	}
	for _, live := range after.Tasks("") {
		if live.LastStatus != spec.Stopped && live.HostID != "" && after.Host(live.HostID) == nil {
			w.Fatalf("%s lives on %s, which is not of the pool", live.ID, live.HostID)
		}
	}
	for is := range admissionsByHost.All(after) {
		if was := before.Admission(is.HostID); was != nil && was.PublicKeyHash != is.PublicKeyHash {
			w.Fatalf("%s has another key", is.HostID)
		}
	}
	for token := range jointoken.ByID.All(after) {
		w.checkJoinToken(jointoken.Find(before, token.ID), token)
	}
	if was, is := before.CA(), after.CA(); was != nil && was != is {
		w.Fatal("the authority changed")
	}
	if was, is := before.Settings(), after.Settings(); is.Incarnation < was.Incarnation || is.Servers%2 == 0 {
		w.Fatalf("settings went from %+v to %+v", was, is)
	}
}

func (w *model) checkJoinToken(was, is *jointoken.Token) {
	state := fmt.Sprintf("%+v, then %+v", was, is)
	if is.Used > is.Uses {
		w.Fatal("it let more hosts in than it may: " + state)
	}
	if was == nil {
		return
	}
	if is.Used < was.Used || was.Revoked && !is.Revoked || was.Revoked && is.Used != was.Used {
		w.Fatal("it got back what it had lost: " + state)
	}
}

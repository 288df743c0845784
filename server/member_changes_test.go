package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// changeReader follows the changes of the cluster "work" on one host after another.
type changeReader struct {
	t     *testing.T
	after raftfsm.Position
	heard []string // the changes as JSON, with their marks and moments
}

// until hears what a host tells until it has heard so many changes.
func (l *changeReader) until(h *testHost, count int) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("host %d tells %d changes", h.n, count), func() bool {
		changes, _, err := h.member.Changes(l.after, 3)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, c := range changes {
			l.after = c.Position
			if c.ClusterName != "work" {
				continue
			}
			text, err := json.Marshal(c)
			if err != nil {
				l.t.Fatal(err)
			}
			if c.At.IsZero() {
				l.t.Errorf("nobody knows when this was: %s", text)
			}
			l.heard = append(l.heard, string(text))
		}
		return len(l.heard) >= count
	})
}

// Whoever listens to one server and then another hears every change once, and as everybody else hears it: also when the
// leader is gone in between.
func TestChangesAreTheSameOnEveryServer(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	change := func(n int) {
		t.Helper()
		command := raftfsm.Command(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "work"}})
		if n > 0 {
			command = raftfsm.SetTags{Kind: spec.ResourceCluster, ID: "work", Put: []spec.Tag{{Key: "n", Value: fmt.Sprint(n)}}}
		}
		eventually(t, "a change", func() bool {
			_, err := p.leader().member.Propose(t.Context(), command)
			if err != nil && !errors.Is(err, spec.ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	wandering, staying := &changeReader{t: t}, &changeReader{t: t}
	leader, others := p.leader(), p.followers()
	for n := range 5 {
		change(n)
	}
	wandering.until(leader, 5)
	staying.until(others[0], 3)
	leader.close()
	for n := range 5 {
		change(5 + n)
	}
	wandering.until(others[1], 10)
	staying.until(others[0], 10)
	if len(staying.heard) != 10 || !slices.Equal(wandering.heard, staying.heard) {
		t.Errorf("%q\n%q", wandering.heard, staying.heard)
	}
	if err := leader.start(); err != nil {
		t.Fatal(err)
	}
	again := &changeReader{t: t}
	again.until(leader, 10) // its log tells what it has missed, and what it knew before
	if !slices.Equal(again.heard, staying.heard) {
		t.Errorf("%q\n%q", again.heard, staying.heard)
	}
}

func TestAnAgentHasNoChangesToTell(t *testing.T) {
	if _, _, err := new(Member).Changes(raftfsm.Position{}, 1); !errors.Is(err, spec.ErrUnavailable) {
		t.Error(err)
	}
}

package server

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/liveness"
)

func TestAgesTravelWithBeats(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 1)
	c.pass(3 * time.Second)
	answer := s.liveness.Receive(liveness.Batch{Hosts: []string{hostID, "stranger"}, Ages: []int64{1500, 0}})
	if len(answer.Hosts) != 1 || answer.Hosts[0] != "stranger" {
		t.Errorf("%+v", answer)
	}
	if silence := s.liveness.Silence(hostID); silence != 1500*time.Millisecond {
		t.Errorf("heard of %v ago", silence)
	}
	s.liveness.Receive(liveness.Batch{Hosts: []string{hostID}, Ages: []int64{2000}}) // by another way, later
	if silence := s.liveness.Silence(hostID); silence != 1500*time.Millisecond {
		t.Errorf("an older beat counts: %v", silence)
	}
	s.liveness.Receive(liveness.Batch{Hosts: []string{hostID}}) // from a server that knows no ages
	if silence := s.liveness.Silence(hostID); silence != 0 {
		t.Errorf("a beat without an age is %v old", silence)
	}
}

func TestASilentHostGetsNoWorkBeforeItIsDisconnected(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 1)
	definition := define(t, s, 0)
	c.pass(2300 * time.Millisecond)
	r := run(t.Context(), t, s, runOf(definition))
	if !s.liveness.Connected(hostID) || len(r.Tasks) != 0 || r.Failures[0].Reason != spec.ReasonAgent {
		t.Errorf("connected %t, answer %+v", s.liveness.Connected(hostID), r)
	}
	if err := s.agents.Heartbeat(t.Context(), hostID, nil); err != nil {
		t.Fatal(err)
	}
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 1 {
		t.Errorf("after its next beat: %+v", r)
	}
	c.pass(3 * time.Second)
	s.liveness.StartTerm(time.Hour) // as a leader that has never heard of it
	c.pass(2300 * time.Millisecond)
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 1 {
		t.Errorf("during the lease of a new leader: %+v", r)
	}
}

package api

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// followerState is a host's own state, which follows the log.
type followerState struct {
	state *raftfsm.State
	err   error
}

func (l followerState) StaleView() (*raftfsm.View, error) { return l.state.View(), l.err }

func (l followerState) Changes(after raftfsm.Position, most int) ([]*raftfsm.Change, <-chan struct{}, error) {
	if l.err != nil {
		return nil, nil, l.err
	}
	return l.state.Changes(after, most)
}

// withEvents is a host that tells events.
func withEvents(b *fixture) *fixture {
	b.config.Local, b.config.History = followerState{state: b.state}, followerState{state: b.state}
	return b
}

// remembered are the ids and kinds of what a host tells without following.
func (b *fixture) remembered(t testing.TB, query string) (ids []string) {
	t.Helper()
	got := b.get("/v1/events?follow=false" + query)
	if got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	s := &sseStream{t: t, lines: bufio.NewScanner(got.Body)}
	for e := s.next(); e.kind != ""; e = s.next() {
		ids = append(ids, e.id+" "+e.kind)
	}
	return ids
}

// The bench begins with 1: the default cluster, 2: a key, 3: a host with four GPUs.
func TestEventsAreToldInTheOrderOfTheLogAndFiltered(t *testing.T) {
	b := withEvents(newFixture(t))
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	b.must(t, "RegisterTaskDefinition", oneGPU)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	host := []string{"3-0 host", "3-1 gpu", "3-2 gpu", "3-3 gpu", "3-4 gpu"}
	for query, want := range map[string][]string{
		"":                          slices.Concat([]string{"1-0 cluster"}, host, []string{"4-0 cluster", "6-0 task"}),
		"&cluster=lab":              {"4-0 cluster"},
		"&type=task,cluster":        {"1-0 cluster", "4-0 cluster", "6-0 task"},
		"&task=" + firstTask:        {"6-0 task"},
		"&task=no":                  nil,
		"&since=3":                  {"4-0 cluster", "6-0 task"},
		"&since=3-3":                {"3-4 gpu", "4-0 cluster", "6-0 task"},
		"&since=3-2&type=gpu":       {"3-3 gpu", "3-4 gpu"},
		"&since=6":                  nil,
		"&cluster=lab&type=host":    nil,
		"&since=0&type=host,%20gpu": host,
	} {
		if got := b.remembered(t, query); !slices.Equal(got, want) {
			t.Errorf("%s: %q", query, got)
		}
	}
}

// Each kind, whole: what Describe... shows and the envelope around it, moments as text.
func TestEventsLookLikeThoseOfECS(t *testing.T) {
	b := withEvents(ready(t))
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"k","value":"v"}]}`)
	b.reportRunning(t, firstTask)
	b.must(t, "CreateCluster", `{"clusterName":"lab","tags":[{"key":"k","value":"v"}]}`)
	sick := newHost(hostID, "gpu-1", 4)
	sick.GPUs.Devices[0].Health, sick.GPUs.Devices[0].Problem = gpu.Unhealthy, "Xid 79"
	b.mustApply(t, raftfsm.PutHost{Host: sick})
	b.mustApply(t, raftfsm.MarkHostLost{ID: hostID, At: epoch})
	b.mustApply(t, raftfsm.RecordConnections{Hosts: []raftfsm.HostConnectivity{{ID: hostID, Silent: true, Heard: epoch}}, At: epoch})
	b.mustApply(t, raftfsm.RecordLeader{HostID: "none", Term: 6, At: epoch})
	b.mustApply(t, raftfsm.RecordLeader{HostID: hostID, Term: 7, At: epoch})
	for name, at := range map[string]string{
		"event-task": "since=5-0&type=task", "event-cluster": "since=6&type=cluster", "event-instance": "since=7&type=host", "event-gpu": "since=7&type=gpu",
		"event-lost": "since=8&type=host", "event-disconnected": "since=9&type=host", "event-leader": "since=11&type=leader",
	} {
		got := b.get("/v1/events?follow=false&" + at)
		s := &sseStream{t: t, lines: bufio.NewScanner(got.Body)}
		e := s.next()
		reply{&httptest.ResponseRecorder{Body: bytes.NewBufferString(e.data)}}.golden(t, name)
	}
}

func TestWhatCannotBeToldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := withEvents(newFixture(t))
		b.get("/v1/events?type=tasks").wantError(t, 400, invalid, `type must be of task, host, cluster, gpu, leader, service, service-action, deployment, hook and refusal, with commas between, not "tasks".`)
		b.get("/v1/events?follow=x").wantError(t, 400, invalid, `follow must be true or false, not "x".`)
		for _, since := range []string{"now", "-1", "1-2-3-4", "1-x", "1-"} {
			b.get("/v1/events?since="+since).wantError(t, 400, invalid, fmt.Sprintf("since must be the id of an event such as 1234-0, or an index such as 1234, not %q.", since))
		}
		b.get("/v1/events?since=99").wantError(t, 500, "ServerException", "This host has seen changes up to index 3, and not 99: it lags behind, or there never was such an event. Try again, or ask another host.")
		b.get("/v1/events?since=2-0-7").wantError(t, 400, invalid, "since 2-0-7 is no event of this pool: the last number is how often the pool was begun or recovered, which is 1. Leave it out of an index that you type.")

		var snapshot bytes.Buffer
		if err := b.state.View().WriteSnapshot(&snapshot); err != nil {
			t.Fatal(err)
		}
		if err := b.state.Restore(&snapshot); err != nil {
			t.Fatal(err)
		}
		b.get("/v1/events?since=2-0").wantError(t, 410, httpx.Gone, "What was changed then is not remembered any more, only what came after 3: list what there is again, and go on from now.")
		if got := b.remembered(t, ""); len(got) != 0 {
			t.Errorf("what is remembered needs no since: %q", got)
		}
		b.mustApply(t, raftfsm.PutSettings{Settings: spec.Settings{Incarnation: 8}})
		b.get("/v1/events?since=2-0-7").wantError(t, 410, httpx.Gone, "Event 2-0-7 is from before the pool was recovered, and what it knew last may not hold any more: list what there is again, and go on from now.")
		b.config.History = nil
		b.get("/v1/events").wantError(t, 400, "ClientException", "pinion: events are not supported here: this host keeps no record of changes")
	})
}

func TestAKeyForOneClusterHearsOfThatOneAlone(t *testing.T) {
	b := withEvents(newFixture(t))
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	for path, want := range map[string]string{
		"/v1/events?follow=false":                 "event: cluster\ndata: ",
		"/v1/events?follow=false&cluster=default": wire.AccessDenied,
	} {
		got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", path, nil)).Body.String()
		if !strings.Contains(got, want) || strings.Contains(got, "gpu-1") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

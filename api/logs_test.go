package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/logfilter"
	"pinion/raftfsm/spec"
)

// newLogFixture has one task whose log is what logs emits.
func newLogFixture(t testing.TB, logs func(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error) *fixture {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.agent.logs = logs
	return b
}

func line(text string) spec.LogLine {
	return spec.LogLine{Time: epoch, Container: "tensorflow-gpu", Stream: "stdout", Text: text}
}

const logPath = "/v1/tasks/" + firstTask + "/logs"

func TestLogsAreLinesOfJSONOrOfText(t *testing.T) {
	b := newLogFixture(t, func(_ context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		return errors.Join(emit(line("GPU 0: <H100>")), emit(line("done")))
	})
	got := b.get(logPath)
	want := `{"time":"2026-01-02T03:04:05.678Z","container":"tensorflow-gpu","stream":"stdout","text":"GPU 0: \u003cH100\u003e"}` + "\n" +
		`{"time":"2026-01-02T03:04:05.678Z","container":"tensorflow-gpu","stream":"stdout","text":"done"}` + "\n"
	if got.Body.String() != want || got.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%s\n%s", got.Header(), got.Body)
	}
	r := httptest.NewRequest("GET", logPath, nil)
	r.Header.Set("Accept", "text/plain")
	if got := b.serve(r); got.Body.String() != "GPU 0: <H100>\ndone\n" {
		t.Errorf("%s", got.Body)
	}
}

func TestLogQueriesReachTheHost(t *testing.T) {
	var asked spec.LogQuery
	b := newLogFixture(t, func(_ context.Context, q spec.LogQuery, _ func(spec.LogLine) error) error {
		asked = q
		return nil
	})
	if got := b.get(logPath + "?follow=1&container=tensorflow-gpu&tail=5&since=10m"); got.Code != http.StatusOK || got.Body.Len() != 0 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	want := spec.LogQuery{Task: firstTask, Container: "tensorflow-gpu", Since: epoch.Add(-10 * time.Minute), Tail: 5, Follow: true, Mark: true} // the mark ends the search
	if asked != want {
		t.Errorf("got %+v\nwant %+v", asked, want)
	}
	b.get(logPath + "?since=2026-01-02T03:00:00Z")
	if asked.Since != time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC) || asked.Follow {
		t.Errorf("%+v", asked)
	}
	b.get(logPath + "?until=2026-01-02T03:00:00Z&grep=los%5Bst%5D&invert=1&tail=2")
	want = spec.LogQuery{Task: firstTask, Tail: 2, Filter: logfilter.Filter{Until: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), Grep: "los[st]", Invert: true}}
	if asked != want {
		t.Errorf("got %+v\nwant %+v", asked, want)
	}
	for _, bad := range []string{"?grep=(", "?invert=1", "?until=soon", "?until=1m&follow=1", "?grep=" + strings.Repeat("a", logfilter.MaxPattern+1)} {
		if got := b.get(logPath + bad); got.Code != 400 || got.Header().Get("X-Amzn-ErrorType") != invalid {
			t.Errorf("%.40s: %d %s", bad, got.Code, got.Body)
		}
	}
	b.get("/v1/tasks/nope/logs").wantError(t, 404, httpx.NotFound, "There is no task nope. Stopped tasks are forgotten after an hour.")
	b.get(logPath+"?container=x").wantError(t, 400, invalid, "Task "+firstTask+` has no container "x"; it has tensorflow-gpu.`)
	b.get(logPath+"?tail=-1").wantError(t, 400, invalid, `tail must be a number of lines from 1, not "-1".`)
	b.get(logPath+"?tail=2000000000").wantError(t, 400, invalid, "tail may be 10000 lines, not 2000000000: for more, leave it out or read from a moment on with since.")
	b.get(logPath+"?follow=maybe").wantError(t, 400, invalid, `follow must be 1 or 0, not "maybe".`)
	b.get(logPath+"?since=yesterday").wantError(t, 400, invalid, `since must be a time such as 2026-01-02T15:04:05Z, or an age such as 10m, not "yesterday".`)
}

func TestAFollowedLogArrivesLineByLine(t *testing.T) {
	next := make(chan string)
	b := newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		for text := range next {
			if err := emit(line(text)); err != nil {
				return err
			}
		}
		return nil
	})
	server := httptest.NewServer(NewHandler(b.config))
	defer server.Close()
	r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+logPath+"?follow=1", nil)
	r.Header.Set("Accept", "text/plain")
	response, err := http.DefaultClient.Do(r) // answers before there is a line
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, text := range []string{"one", "two"} {
		next <- text
		if got, err := lines.ReadString('\n'); got != text+"\n" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	close(next)
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("the end of the log: %v", err)
	}
}

// A key that may only read follows logs without end; it keeps nobody at another address out.
func TestOneAddressHasSoManyStreams(t *testing.T) {
	b := newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, _ func(spec.LogLine) error) error {
		<-ctx.Done()
		return ctx.Err()
	})
	b.config.Shared = NewShared()
	b.config.Shared.limits.Open.PerAddress = 2
	server := httptest.NewServer(NewHandler(b.config))
	t.Cleanup(server.Close)
	follow := func() int {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+logPath+"?follow=1", nil)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response.StatusCode
	}
	if a, b, c := follow(), follow(), follow(); a != 200 || b != 200 || c != 503 {
		t.Errorf("%d %d %d", a, b, c)
	}
	r := httptest.NewRequest("POST", "/v1/ListClusters", nil)
	r.RemoteAddr = "192.0.2.7:1"
	if got := b.serve(r); got.Code != 200 {
		t.Errorf("from another address: %d %s", got.Code, got.Body)
	}
}

// A log that breaks off must not look like one that ended.
func TestALogThatBreaksOffBreaksTheConnection(t *testing.T) {
	b := newLogFixture(t, func(_ context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		return errors.Join(emit(line("one")), errors.New("disk on fire"))
	})
	server := httptest.NewServer(NewHandler(b.config))
	defer server.Close()
	response, err := http.Get(server.URL + logPath + "?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %v", err)
	}
}

// A host that stops ends the contexts of the requests of other hosts: what they follow here has not ended, and must not look like it.
func TestALogBreaksOffWhenItsHostStops(t *testing.T) {
	b := newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		err := emit(line("one"))
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	stopping, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(NewHandler(b.config))
	server.EnableHTTP2, server.Config.BaseContext = true, func(net.Listener) context.Context { return stopping }
	server.StartTLS()
	defer server.Close()
	response, err := server.Client().Get(server.URL + logPath + "?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := lines.ReadString('\n'); err == nil || err == io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	b := newLogFixture(t, func(context.Context, spec.LogQuery, func(spec.LogLine) error) error {
		return errors.New("disk on fire")
	})
	b.get(logPath).wantError(t, 500, "ServerException", "disk on fire")
}

func TestPulls(t *testing.T) {
	b := newLogFixture(t, nil)
	if got := b.get("/v1/tasks/" + firstTask + "/pulls").Body.String(); got != "[]" {
		t.Errorf("no pulls: %s", got)
	}
	b.agent.pulls = func(string) []spec.Pull { return []spec.Pull{{Image: "i", Done: 1, Total: 2}} }
	if got := b.get("/v1/tasks/" + firstTask + "/pulls").Body.String(); got != `[{"image":"i","done":1,"total":2}]` {
		t.Errorf("pulls: %s", got)
	}
}

// No way of asking for a log tells a key of another cluster or team a line of it, nor whether one matches.
func TestNoQueryTellsALogOfOthers(t *testing.T) {
	asked := 0
	b := newLogFixture(t, func(_ context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		asked++
		return emit(line("the loss of others"))
	})
	ofTeam := b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"mine"}}})
	for _, query := range []string{"", "?grep=loss", "?grep=none&invert=1", "?follow=1&mark=1", "?tail=1&since=1h", "?until=1s", "?container=tensorflow-gpu&grep=.", "?stale=true&grep=loss", "?cluster=lab&grep=loss"} {
		r := httptest.NewRequest("GET", logPath+query, nil)
		for name, got := range map[string]reply{"cluster": b.serveAs(t, accesskey.RoleAdmin, "lab", r), "team": b.as(ofTeam, r)} {
			if kind := got.Header().Get("X-Amzn-ErrorType"); kind != wire.AccessDenied || strings.Contains(got.Body.String(), "loss") || asked > 0 {
				t.Errorf("a key of another %s, %s: %d %s %s, asked %d times", name, query, got.Code, kind, got.Body, asked)
			}
		}
	}
}

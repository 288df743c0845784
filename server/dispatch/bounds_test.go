package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/metrics"
)

// fakeServer is a server that leads, whose reports wait until the test lets them go.
type fakeServer struct {
	state   *raftfsm.State
	index   uint64
	release chan struct{} // nil: nothing waits
}

func (f *fakeServer) State() *raftfsm.State { return f.state }
func (f *fakeServer) Now() time.Time        { return time.Now() }

func (f *fakeServer) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	if _, is := c.(raftfsm.ReportTasks); is && f.release != nil {
		<-f.release
		return []string(nil), nil
	}
	f.index++
	return f.state.Apply(f.index, c)
}

func (f *fakeServer) CallLeader(_ context.Context, local func() error, _ func(context.Context, string) error) error {
	return local()
}

func (f *fakeServer) BeginCall(ctx context.Context) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// fakeHost is a host with this backend.
type fakeHost struct {
	backend *Backend
	info    spec.PoolInfo
}

func (f *fakeHost) Backend() *Backend                           { return f.backend }
func (f *fakeHost) PoolInfo() spec.PoolInfo                     { return f.info }
func (f *fakeHost) CheckIncarnation(int, *spec.PoolInfo) error  { return nil }
func (f *fakeHost) Heartbeat(context.Context, string) error     { return nil }
func (f *fakeHost) Record(string)                               {}
func (f *fakeHost) LeaderUnreachable() bool                     { return false }
func (f *fakeHost) Heard(string) bool                           { return false }
func (f *fakeHost) ClockOffset(string) time.Duration            { return 0 }
func (f *fakeHost) RecordClock(string, time.Time) time.Duration { return 0 }
func (f *fakeHost) RecordDrained(string, []string)              {}

// fakePoolInfo is a server that has nothing to tell of the pool.
type fakePoolInfo struct{}

func (fakePoolInfo) PoolInfo() *spec.PoolInfo         { return nil }
func (fakePoolInfo) PoolInfoChanged() <-chan struct{} { return nil }

// agentEnd is the agent's end of a session with a real dispatcher.
type agentEnd struct {
	*json.Encoder
	replies *json.Decoder
	hangUp  func()
}

// openAgentEnd opens a session of host "h" and waits until it is registered.
func openAgentEnd(t *testing.T, server *fakeServer) *agentEnd {
	t.Helper()
	host := &fakeHost{}
	host.backend = NewBackend(server, host, fakePoolInfo{}, nil, nil, metrics.NewStore(), fakeLeases{})
	requests, toServer := io.Pipe()
	toAgent, answers := io.Pipe()
	r := httptest.NewRequest(http.MethodPost, PathSession, requests).WithContext(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewDispatcher(host, slog.New(slog.DiscardHandler)).ServeSession(&streamWriter{answers}, r, "h")
		answers.Close()
	}()
	a := &agentEnd{Encoder: json.NewEncoder(toServer), replies: json.NewDecoder(toAgent)}
	a.hangUp = func() {
		toServer.Close()
		go io.Copy(io.Discard, toAgent)
		<-ended
	}
	h := &handshake{Registration: Registration{Host: spec.Host{ID: "h", Name: "h", Cluster: "default"}}}
	if err := a.Encode(agentMessage{Seq: 1, Handshake: h}); err != nil {
		t.Fatal(err)
	}
	if reply := a.reply(t); reply.Error != nil {
		t.Fatal(reply.Error.Err())
	}
	return a
}

// reply is the next message that is a reply.
func (a *agentEnd) reply(t *testing.T) *sessionReply {
	t.Helper()
	for {
		var message serverMessage
		if err := a.replies.Decode(&message); err != nil {
			t.Fatal(err)
		}
		if message.Reply != nil {
			return message.Reply
		}
	}
}

// streamWriter is an http.ResponseWriter whose body is read while it is written.
type streamWriter struct{ io.Writer }

func (*streamWriter) Header() http.Header { return http.Header{} }
func (*streamWriter) WriteHeader(int)     {}
func (*streamWriter) Flush()              {}

func TestASessionHandlesFewMessagesAtATimeAndRefusesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{state: raftfsm.NewState(), release: make(chan struct{})}
		agent := openAgentEnd(t, server)
		report := func(seq uint64) agentMessage {
			return agentMessage{Seq: seq, Reports: []spec.TaskReport{{TaskID: fmt.Sprint("task-", seq), Status: spec.Running}}}
		}
		for seq := range uint64(maxInFlight) {
			if err := agent.Encode(report(10 + seq)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for seq := range uint64(100) {
			if err := agent.Encode(report(1000 + seq)); err != nil {
				t.Fatal(err)
			}
			if reply := agent.reply(t); reply.Seq != 1000+seq || !errors.Is(reply.Error.Err(), spec.ErrUnavailable) {
				t.Fatalf("one message more: %+v", reply)
			}
		}
		close(server.release)
		for range maxInFlight {
			if reply := agent.reply(t); reply.Seq >= 1000 || reply.Error != nil {
				t.Errorf("a message in flight: %+v", reply)
			}
		}
		agent.hangUp()
	})
}

func TestAMessageWithoutEndIsGivenUp(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"reports":["`), neverEnding('x'))
	counted := &countingReader{Reader: endless}
	var message agentMessage
	if err := newMessageReader(counted).next(&message); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
	if counted.bytes > maxMessage {
		t.Errorf("%d bytes were read", counted.bytes)
	}
	// The limit is of one message, not of the session.
	many := newMessageReader(io.MultiReader(strings.NewReader(`{"seq":1}`), spaces(maxMessage-20), strings.NewReader(`{"seq":2}`), spaces(maxMessage-20), strings.NewReader(`{"seq":3}`)))
	for want := range uint64(3) {
		if err := many.next(&message); err != nil || message.Seq != want+1 {
			t.Fatalf("message %d: %+v, %v", want+1, message, err)
		}
	}
	if err := many.next(&message); err != errPeerClosed {
		t.Errorf("at the end: %v", err)
	}
}

// neverEnding is a stream of one byte.
type neverEnding byte

func (n neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n)
	}
	return len(p), nil
}

func spaces(n int64) io.Reader { return io.LimitReader(neverEnding(' '), n) }

type countingReader struct {
	io.Reader
	bytes int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += n
	return n, err
}

func TestAHostWithManyTasksDelaysNoOther(t *testing.T) {
	server := &fakeServer{state: raftfsm.NewState()}
	if _, err := server.Propose(t.Context(), raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "default", Status: spec.ClusterActive}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"slow", "quick"} {
		if _, err := server.Propose(t.Context(), raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: "default"}}); err != nil {
			t.Fatal(err)
		}
	}
	begun, release := make(chan struct{}), make(chan struct{})
	versions := &assignmentVersions{list: func(view *raftfsm.View, hostID string) ([]spec.Assignment, <-chan struct{}) {
		if hostID == "slow" {
			close(begun)
			<-release
		}
		return view.Assignments(hostID)
	}}
	slow := make(chan error, 1)
	go func() {
		_, _, _, err := versions.current(server.state, "slow", 0)
		slow <- err
	}()
	<-begun
	quick := make(chan error, 1)
	go func() {
		_, _, _, err := versions.current(server.state, "quick", 0)
		quick <- err
	}()
	select {
	case err := <-quick:
		if err != nil {
			t.Error(err)
		}
	case err := <-slow:
		t.Errorf("the other host waited for it: %v", err)
	case <-t.Context().Done():
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

func TestAHostThatIsGoneIsForgotten(t *testing.T) {
	server := &fakeServer{state: raftfsm.NewState()}
	agent := openAgentEnd(t, server)
	agent.hangUp()
	var versions assignmentVersions
	if _, _, _, err := versions.current(server.state, "h", 0); err != nil || len(versions.hosts) != 1 {
		t.Fatal(err, len(versions.hosts))
	}
	versions.forget("h") // as its session does when it ends
	if _, _, _, err := versions.current(server.state, "stranger", 0); !errors.Is(err, spec.ErrNotFound) {
		t.Error(err)
	}
	if len(versions.hosts) != 0 {
		t.Errorf("%d hosts are remembered", len(versions.hosts))
	}
}

func TestTheListOfRemovedHostsIsSentWhenItChanges(t *testing.T) {
	removed := []string{"a", "b"}
	var sent poolInfoSent
	first := &spec.PoolInfo{Leader: "one:1", Removed: removed}
	if u := sent.next(first, false); u == nil || u.SameRemoved || len(u.PoolInfo.Removed) != 2 {
		t.Errorf("at first: %+v", u)
	}
	if u := sent.next(first, false); u != nil {
		t.Errorf("nothing has changed: %+v", u)
	}
	if u := sent.next(first, true); u == nil || !u.SameRemoved || !u.Server {
		t.Errorf("the host becomes a server: %+v", u)
	}
	if u := sent.next(&spec.PoolInfo{Leader: "two:1", Removed: removed}, true); u == nil || !u.SameRemoved || u.PoolInfo.Removed != nil {
		t.Errorf("another leader: %+v", u)
	}
	if u := sent.next(&spec.PoolInfo{Leader: "two:1", Removed: append(removed, "c")}, true); u == nil || u.SameRemoved || len(u.PoolInfo.Removed) != 3 {
		t.Errorf("another host is removed: %+v", u)
	}

	var heard []PoolInfoUpdate
	s := &AgentSession{onPoolInfo: func(u PoolInfoUpdate) { heard = append(heard, u) }}
	for _, u := range []PoolInfoUpdate{{PoolInfo: *first}, {PoolInfo: spec.PoolInfo{Leader: "two:1"}, SameRemoved: true}, {}} {
		if err := s.handle(serverMessage{PoolInfo: &u}); err != nil {
			t.Fatal(err)
		}
	}
	if len(heard[1].PoolInfo.Removed) != 2 || heard[1].PoolInfo.Leader != "two:1" || len(heard[2].PoolInfo.Removed) != 0 {
		t.Errorf("the host heard %+v", heard)
	}
}

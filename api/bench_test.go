package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/gpu"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
)

// fakeTaskHost stands in for the host's agent; a nil func means that nothing is there.
type fakeTaskHost struct {
	logs  func(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error
	pulls func(taskID string) []spec.Pull
	exec  func(ctx context.Context, r execcommand.Request) (int, error)
}

var _ rest.TaskHost = (*fakeTaskHost)(nil)

func (a *fakeTaskHost) Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
	if a.logs == nil {
		return nil
	}
	return a.logs(ctx, q, emit)
}

func (a *fakeTaskHost) Pulls(taskID string) []spec.Pull {
	if a.pulls == nil {
		return nil
	}
	return a.pulls(taskID)
}

func (a *fakeTaskHost) Exec(ctx context.Context, r execcommand.Request) (int, error) {
	if a.exec == nil {
		return 0, spec.ErrNotFound
	}
	return a.exec(ctx, r)
}

// fakeGPUHost has GPUs that are used as it says; nil: nothing is known.
type fakeGPUHost struct{ usage func() gpu.LatestUsage }

var _ rest.GPUHost = (*fakeGPUHost)(nil)

func (*fakeGPUHost) Check(string, bool) error { return spec.ErrNotFound }

func (*fakeGPUHost) Forget(string) error { return gpu.ErrPresent }

func (*fakeGPUHost) CheckOutcome(string) (gpu.CheckOutcome, error) {
	return gpu.CheckOutcome{}, spec.ErrNotFound
}

func (h *fakeGPUHost) Usage() gpu.LatestUsage {
	if h.usage == nil {
		return gpu.LatestUsage{}
	}
	return h.usage()
}

func (*fakeGPUHost) Samples(string, time.Time) []gpu.UsageSample { return []gpu.UsageSample{} }

// fixture is a handler with fakes behind it, which a test may change before it serves.
type fixture struct {
	*fakeStore
	agent  *fakeTaskHost
	gpus   *fakeGPUHost
	doctor *fakeDoctor
	images *fakeImageHost

	upgrades *fakeRemote
	config   Config
}

// newFixture is a handler that needs no credentials, as the unix socket has it.
func newFixture(t testing.TB) *fixture {
	b := &fixture{fakeStore: newFakeStore(t), agent: &fakeTaskHost{}, gpus: &fakeGPUHost{}, doctor: &fakeDoctor{}, images: newImageHost(), upgrades: &fakeRemote{}}
	b.config = Config{Store: b.fakeStore, Agent: rest.Agent{Tasks: b.agent, GPUs: b.gpus, Images: b.images, Doctor: b.doctor, Upgrades: b.upgrades}, HostID: hostID, Admin: rest.Admin{Hosts: &fakeAdmin{fakeStore: b.fakeStore}}, Log: slog.New(slog.DiscardHandler), Version: "1.2.3", Now: func() time.Time { return epoch }, Trusted: true, Shared: NewShared()}
	return b
}

// reply is what came back.
type reply struct {
	*httptest.ResponseRecorder
}

func (b *fixture) serve(r *http.Request) reply {
	w := httptest.NewRecorder()
	serveHTTP(NewHandler(b.config), w, r)
	return reply{w}
}

// serveHTTP serves a request as net/http does: a handler may break its response off.
func serveHTTP(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if reason := recover(); reason != nil && reason != http.ErrAbortHandler {
			panic(reason)
		}
	}()
	handler.ServeHTTP(w, r)
}

// aws sends an operation by AWS's JSON protocol.
func (b *fixture) aws(operation, body string) reply { return b.serve(awsRequest(operation, body)) }

func awsRequest(operation, body string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", httpx.AWSJSON)
	r.Header.Set("X-Amz-Target", ecs.Target+"."+operation)
	return r
}

// rest sends an operation as plain HTTP, as JSON or as the content type says.
func (b *fixture) rest(operation, body string, contentType ...string) reply {
	r := httptest.NewRequest("POST", "/v1/"+operation, strings.NewReader(body))
	for _, kind := range contentType {
		r.Header.Set("Content-Type", kind)
	}
	return b.serve(r)
}

func (b *fixture) get(path string) reply { return b.serve(httptest.NewRequest("GET", path, nil)) }

// must is aws for what a test takes for granted.
func (b *fixture) must(t testing.TB, operation, body string) reply {
	t.Helper()
	got := b.aws(operation, body)
	if got.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", operation, got.Code, got.Body)
	}
	return got
}

// wantError checks status, type and message of a refusal; the type has to be in the header too.
func (r reply) wantError(t testing.TB, status int, kind, message string) {
	t.Helper()
	if r.Code != status || r.Header().Get("X-Amzn-ErrorType") != kind {
		t.Errorf("got %d %s %s\nwant %d %s", r.Code, r.Header().Get("X-Amzn-ErrorType"), r.Body, status, kind)
	}
	got := struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{}
	r.decode(t, &got)
	if got.Type != kind || got.Message != message {
		t.Errorf("got  %s %q\nwant %s %q", got.Type, got.Message, kind, message)
	}
}

// arns begins the ARNs of the region that tests call from.
const arns = "arn:aws:ecs:us-east-1:123456789012:"

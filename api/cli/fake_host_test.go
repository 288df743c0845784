package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/cli/exit"
)

// fakeHost is a host as the command line sees it: the API on the unix socket of a data directory. Operations and
// documents that a test does not give answer an error, so nothing is asked for unnoticed.
type fakeHost struct {
	dir        string
	operations map[string]func(in map[string]any) any     // POST /v1/{Operation}
	documents  map[string]func(w http.ResponseWriter) any // GET path; a nil answer means that w was used
	header     http.Header                                // added to every answer
	key        string                                     // the only access key of its pool; empty: any is good

	mu     sync.Mutex
	calls  []string // "RunTask", "/v1/hosts", ... in order
	bodies map[string]string
	actors []string // the access key of each call that was answered, empty for root
}

// errorReply is an answer with an error.
type errorReply struct {
	status        int
	kind, message string
}

func newFakeHost(t *testing.T) *fakeHost {
	t.Helper()
	dir := shortDir(t)
	h := &fakeHost{dir: dir, operations: map[string]func(map[string]any) any{}, documents: map[string]func(http.ResponseWriter) any{}, bodies: map[string]string{}}
	listener, err := net.Listen("unix", filepath.Join(dir, "pinion.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return h
}

// shortDir is a directory whose path leaves room for the name of a socket, which t.TempDir does not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pinion-cli")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name := r.URL.RequestURI()
	if r.Method == http.MethodPost {
		name = strings.TrimPrefix(name, "/v1/")
	}
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	if key != "" && h.key != "" && key != h.key {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"UnrecognizedClientException","message":"no such key"}`)
		return
	}
	h.mu.Lock()
	h.actors = append(h.actors, key)
	h.calls = append(h.calls, name)
	h.bodies[name] = string(body)
	h.mu.Unlock()
	for key, values := range h.header {
		w.Header()[key] = values
	}
	answer := h.answer(w, r, name, body)
	switch answer := answer.(type) {
	case nil:
	case errorReply:
		w.WriteHeader(answer.status)
		fmt.Fprintf(w, `{"__type":%q,"message":%q}`, answer.kind, answer.message)
	case string:
		io.WriteString(w, answer)
	default:
		json.NewEncoder(w).Encode(answer)
	}
}

func (h *fakeHost) answer(w http.ResponseWriter, r *http.Request, name string, body []byte) any {
	if document, known := h.documents[name]; known && r.Method == http.MethodGet {
		return document(w)
	}
	if operation, known := h.operations[name]; known {
		var in map[string]any
		json.Unmarshal(body, &in)
		return operation(in)
	}
	return errorReply{400, "ClientException", "the test has no answer to " + name}
}

// callCount lists what was asked, so often as it was.
func (h *fakeHost) callCount(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, asked := range h.calls {
		if asked == name {
			n++
		}
	}
	return n
}

// always answers the same.
func always(answer any) func(map[string]any) any { return func(map[string]any) any { return answer } }

// serveDocument answers a GET with a document.
func serveDocument(document any) func(http.ResponseWriter) any {
	return func(http.ResponseWriter) any { return document }
}

// testTime is the time of every test.
var testTime = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// result is what one command line did.
type result struct {
	code     int
	out, err string
}

// pinion runs one command line against the host; without one (nil) there is no host.
func pinion(t *testing.T, h *fakeHost, arguments ...string) result {
	t.Helper()
	return pinionWith(t, Program{}, h, arguments...)
}

func pinionWith(t *testing.T, p Program, h *fakeHost, arguments ...string) result {
	t.Helper()
	dir := t.TempDir()
	if h != nil {
		dir = h.dir
	}
	p.Version = "0.1.0"
	if p.system.Now == nil {
		p.system.Now = func() time.Time { return testTime }
	}
	if p.system.Sleep == nil {
		p.system.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	var out, err safeBuffer
	app := New(p)
	app.Writer, app.ErrWriter, app.Reader = &out, &err, strings.NewReader("")
	code := exit.Report(&err, runLine(context.Background(), app, append([]string{"pinion", "--data-dir", dir}, arguments...)))
	return result{code: code, out: out.String(), err: strings.ReplaceAll(err.String(), dir, "DIR")}
}

// safeBuffer is a writer that a command and its helpers may share.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// checkEqual fails with both texts when they differ.
func checkEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}

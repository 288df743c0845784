package client

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/auth/sigv4"
)

const (
	keyID  = "AKIAEXAMPLEEXAMPLE00"
	secret = "0123456789abcdefghijABCDEFGHIJ+/=?&%xyzq"
)

// serveHost is a Pinion host on the network: TLS, and no answer without a good signature.
func serveHost(t *testing.T, serve http.HandlerFunc) Config {
	t.Helper()
	verifier := sigv4.Verifier{Service: "ecs", Now: time.Now}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		caller, err := verifier.Verify(r, body, func(id string) (string, bool) { return secret, id == keyID })
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"Signature","message":%q}`, err.Error())
			return
		}
		w.Header().Set("X-Region", caller.Region)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		serve(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return Config{Host: server.Listener.Addr().String(), KeyID: keyID, Secret: secret, CAFile: ca}
}

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOverTheNetworkEveryRequestIsSigned(t *testing.T) {
	var seen []string
	c := newClient(t, serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.RequestURI()+" "+string(body)+" "+w.Header().Get("X-Region"))
		if r.URL.Path == "/v1/tasks/3f/logs" {
			io.WriteString(w, `{"time":"2025-06-01T12:00:00Z","container":"c","stream":"stdout","text":"hello"}`+"\n")
			return
		}
		io.WriteString(w, "{}")
	}))
	ctx := t.Context()
	if err := c.Call(ctx, "ListTasks", map[string]string{"cluster": "ü & \"lab\""}, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Send(ctx, "RegisterTaskDefinition", "application/yaml", []byte("family: x\n")); err != nil {
		t.Error(err)
	}
	q := LogQuery{Task: "3f", Container: "a b", Tail: 3, Follow: true, Since: time.Date(2025, 6, 1, 12, 0, 0, 5, time.UTC)}
	if err := c.Logs(ctx, q, func(line LogLine) error { seen = append(seen, line.Text); return nil }); err != nil {
		t.Error(err)
	}
	want := `POST /v1/ListTasks {"cluster":"ü \u0026 \"lab\""} us-east-1
POST /v1/RegisterTaskDefinition family: x
 us-east-1
GET /v1/tasks/3f/logs?container=a%20b&follow=1&since=2025-06-01T12%3A00%3A00.000000005Z&tail=3  us-east-1
hello`
	if got := strings.Join(seen, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAWrongSecretIsTheHostsRefusal(t *testing.T) {
	config := serveHost(t, func(http.ResponseWriter, *http.Request) { t.Error("served") })
	config.Secret = "wrong"
	err := newClient(t, config).Get(t.Context(), "/v1/hosts", nil, &struct{}{})
	var refused *APIError
	if !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(err.Error(), "signature") || errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestWhatStandsInTheWayIsToldWithWhatToDo(t *testing.T) {
	good := serveHost(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	untrusted, closed, plain := good, good, good
	untrusted.CAFile = ""
	plainServer := httptest.NewServer(http.NotFoundHandler())
	defer plainServer.Close()
	plain.Host = plainServer.Listener.Addr().String()
	closed.Host = freePort(t)
	dead := filepath.Join(shortDir(t), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()

	for says, config := range map[string]Config{
		"is not signed by a CA that this machine knows. Pass the host's CA file with --ca": untrusted,
		"does not speak TLS":                                  plain,
		"connection refused. Is pinion up":                    closed,
		"no host runs here: there is no /nowhere/pinion.sock": {Socket: "/nowhere/pinion.sock"},
		"no Pinion host is running at":                        {Socket: dead},
	} {
		err := newClient(t, config).Get(t.Context(), "/v1/hosts", nil, &struct{}{})
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\nwant %s", err, says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newClient(t, good).Get(ctx, "/v1/hosts", nil, nil); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("a request that was given up: %v", err)
	}
}

func TestAnAnswerThatIsNoJSONIsSaidSo(t *testing.T) {
	c := newClient(t, serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusBadGateway)
		}
		io.WriteString(w, "<html>\n<h1>corporate proxy</h1>")
	}))
	if err := c.Get(t.Context(), "/v1/hosts", nil, &struct{}{}); err == nil || !strings.Contains(err.Error(), "see `pinion version`") {
		t.Errorf("%v", err)
	}
	if err := c.Call(t.Context(), "ListTasks", struct{}{}, nil); err == nil || err.Error() != "the host answered 502 Bad Gateway <html>" {
		t.Errorf("%v", err)
	}
}

func TestALogThatBreaksOffIsToldApartFromOneThatEnds(t *testing.T) {
	c := newClient(t, serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"text":"one"}`+"\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	lines := 0
	err := c.Logs(t.Context(), LogQuery{Task: "3f"}, func(LogLine) error { lines++; return nil })
	if !errors.Is(err, ErrLogInterrupted) || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
	full := errors.New("disk full")
	if err := c.Logs(t.Context(), LogQuery{Task: "3f"}, func(LogLine) error { return full }); err != full {
		t.Errorf("%v", err)
	}
}

func TestTasksKeepTheirWholeDocument(t *testing.T) {
	var asked []string
	c := newClient(t, serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		switch {
		case strings.HasSuffix(r.URL.Path, "DescribeTasks"):
			io.WriteString(w, `{"tasks":[{"taskArn":"arn:aws:ecs:r:a:task/default/3f","createdAt":1748779020.5,"later":{"x":1},"containers":[{"gpuIds":["GPU-1"]},{"gpuIds":["GPU-2"]}]}],"failures":[]}`)
		case strings.Contains(string(body), "nextToken"):
			io.WriteString(w, `{"taskArns":["arn:aws:ecs:r:a:task/default/3f"]}`)
		default:
			io.WriteString(w, `{"taskArns":["arn:aws:ecs:r:a:task/default/91"],"nextToken":"more"}`)
		}
	}))
	ids, err := c.TaskIDs(t.Context(), "lab")
	if err != nil || strings.Join(ids, " ") != "3f 91" || len(asked) != 4 {
		t.Errorf("%v %v after %d requests", ids, err, len(asked))
	}
	tasks, _, err := c.DescribeTasks(t.Context(), "lab", ids)
	if err != nil {
		t.Fatal(err)
	}
	document, err := tasks[0].MarshalJSON()
	if err != nil || !strings.Contains(string(document), `"later":{"x":1}`) || tasks[0].ID() != "3f" || strings.Join(tasks[0].GPUs(), " ") != "GPU-1 GPU-2" {
		t.Errorf("%+v %s %v", tasks[0], document, err)
	}
	if at := tasks[0].CreatedAt.UTC().Format("15:04:05.000"); at != "11:57:00.500" {
		t.Error(at)
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pinion-client") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// freePort is an address where nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

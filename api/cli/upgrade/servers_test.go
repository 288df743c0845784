package upgrade

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// twoServers are two that the command may talk to; the first one was given.
func twoServers(t *testing.T, sockets ...string) (s *servers, second *client.Client) {
	t.Helper()
	var all []*client.Client
	for _, socket := range append(sockets, "/nowhere/1", "/nowhere/2")[:2] {
		c, err := client.New(client.Config{Socket: socket})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	s = newServers(&invocation.Invocation{Client: all[0], Now: time.Now, Err: io.Discard})
	s.all["10.0.0.6:7400"] = all[1]
	return s, all[1]
}

// An answer that is late counts as none after answerTimeout, and the next question goes to another server. A refusal is an answer, and a caller that has given up
// is no fault of the server.
func TestAServerThatDoesNotAnswerInTimeIsNotAskedNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, second := twoServers(t)
		began := time.Now()
		late := func(ctx context.Context, _ *client.Client) error { <-ctx.Done(); return ctx.Err() }
		if err := s.question(t.Context(), late); !client.IsUnavailable(err) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != answerTimeout {
			t.Errorf("late: %v after %s", err, time.Since(began))
		}
		asked := func(err error) func(context.Context, *client.Client) error {
			return func(_ context.Context, c *client.Client) error {
				if c != second {
					t.Error("the server that was late is asked again")
				}
				return err
			}
		}
		refusal := &client.APIError{Status: 400}
		if err := s.question(t.Context(), asked(refusal)); !errors.Is(err, refusal) || client.IsUnavailable(err) {
			t.Errorf("a refusal: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := s.question(ctx, late); client.IsUnavailable(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has given up: %v", err)
		}
		if err := s.question(t.Context(), asked(nil)); err != nil {
			t.Errorf("after both: %v", err)
		}
	})
}

// What comes of an answer that is cut off is no answer, wherever the cut is: a host that is started anew ends in the middle of it.
func TestAnAnswerThatIsCutOffIsNone(t *testing.T) {
	const whole = `{"running":{"version":"B","digest":"sha256:b"},"keys":[]}`
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 57\r\n\r\n"
	if len(whole) != 57 {
		t.Fatal(len(whole))
	}
	for name, sent := range map[string]string{"nothing": "", "in the header": head[:20], "behind the header": head, "in the body": head + whole[:30], "before its last byte": head + whole[:56]} {
		s, _ := twoServers(t, cutOff(t, sent), cutOff(t, head+whole))
		if got, err := s.status(t.Context(), "gpu-1"); !client.IsUnavailable(err) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if got, err := s.status(t.Context(), "gpu-1"); err != nil || got.Running.Version != "B" {
			t.Errorf("%s, the other server: %+v %v", name, got, err)
		}
	}
}

// cutOff is the socket of a server that sends so much of an answer, and ends.
func cutOff(t *testing.T, sent string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, sent)
		conn.Close()
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return socket
}

package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// asked is the answer to the container of a task with a role.
func asked(c *container) (int, map[string]any) {
	w := httptest.NewRecorder()
	c.credentials(w, httptest.NewRequest("GET", "/v2/credentials/"+c.id, nil))
	var document map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &document) // then it has no members
	return w.Code, document
}

func TestAContainerHasTheAccessKeyOfItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, failing := 0, false
		s := New(Config{Log: slog.New(slog.DiscardHandler), Credentials: func(_ context.Context, task string) (Credentials, error) {
			if calls++; failing {
				return Credentials{}, errors.New("a secret reason")
			}
			return Credentials{RoleARN: "arn", AccessKeyID: "ASIA" + task, SecretAccessKey: "s", Token: "t", Expiration: time.Now().Add(time.Hour)}, nil
		}})
		c := &container{id: "id", service: s, taskID: "task", role: "trainer"}
		for range 100 {
			status, got := asked(c)
			if status != http.StatusOK || got["RoleArn"] != "arn" || got["AccessKeyId"] != "ASIAtask" || got["SecretAccessKey"] != "s" || got["Token"] != "t" {
				t.Fatalf("%d %v", status, got)
			}
			if _, err := time.Parse(time.RFC3339, got["Expiration"].(string)); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 1 {
			t.Errorf("the leader is asked %d times at one moment", calls)
		}
		time.Sleep(keptCredentials)
		if asked(c); calls != 2 {
			t.Errorf("after a minute it was asked %d times", calls)
		}
		failing = true
		time.Sleep(keptCredentials)
		if status, got := asked(c); status != http.StatusInternalServerError || got["code"] == nil || strings.Contains(got["message"].(string), "secret reason") {
			t.Errorf("while the pool does not answer: %d %v", status, got)
		}
	})
	if status, got := asked(&container{id: "id"}); status != http.StatusNotFound {
		t.Errorf("a task without a role: %d %v", status, got)
	}
}

// oneConnection is a listener that one client has connected to.
type oneConnection struct{ connections chan net.Conn }

func (l oneConnection) Accept() (net.Conn, error) {
	if c, open := <-l.connections; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (oneConnection) Close() error   { return nil }
func (oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

// A client that is refused, and never sends the body that it has announced, holds its connection no longer than any other.
func TestARefusedRequestOfTheAPIHoldsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Log: slog.New(slog.DiscardHandler)})
		s.HandleAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
		l := oneConnection{make(chan net.Conn, 1)}
		client, connection := net.Pipe()
		l.connections <- connection
		server := &http.Server{ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, IdleTimeout: maxIdle, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, &endpoint{maxAPI: 1}, http.NotFound) })}
		go server.Serve(l)
		began := time.Now()
		if _, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: nobody\r\nContent-Length: 1000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(client); err != nil || time.Since(began) > 2*ioTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(l.connections)
	})
}

// A request without credentials gets no further than the endpoint; one with credentials is the API's to judge, as from the container.
func TestOnlyRequestsWithCredentialsReachTheAPI(t *testing.T) {
	s := New(Config{Log: slog.New(slog.DiscardHandler)})
	e, reached := &endpoint{maxAPI: 1, containers: map[string]*container{"a": {address: "10.9.0.2"}}}, ""
	ask := func(authorization string) int {
		r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", authorization)
		s.serveAPI(w, r, e, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		return w.Code
	}
	if status := ask("AWS4-HMAC-SHA256 x"); status != http.StatusNotFound {
		t.Errorf("before there is an API: %d", status)
	}
	s.HandleAPI(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = r.RemoteAddr }))
	if status := ask(""); status != http.StatusNotFound || reached != "" {
		t.Errorf("without credentials: %d", status)
	}
	if status := ask("AWS4-HMAC-SHA256 x"); status != http.StatusOK || !strings.HasPrefix(reached, "10.9.0.2:") {
		t.Errorf("%d from %s", status, reached)
	}
	if e.api.take(1); ask("AWS4-HMAC-SHA256 x") != http.StatusTooManyRequests {
		t.Error("there is no limit of requests at once")
	}
}

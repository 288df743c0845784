package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/node/proxy/http1"
)

// server hands each connection to the test.
type server struct {
	*testing.T
	net.Listener
	http1.Transport
}

func newServer(t *testing.T) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, Listener: l, Transport: http1.Transport{Dial: dial}}
	t.Cleanup(func() { l.Close(); s.CloseIdleConnections() })
	return s
}

func (s *server) accept() (net.Conn, *bufio.Reader) {
	s.Helper()
	conn, err := s.Accept()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}

// answer reads one request and answers it.
func (s *server) answer(conn net.Conn, from *bufio.Reader) {
	s.Helper()
	r, err := http.ReadRequest(from)
	if err != nil {
		s.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

// ask sends a request beside the test; the channel gets the body of the answer, or the error.
func (s *server) ask(method, body string, o http1.Options) <-chan string {
	done := make(chan string, 1)
	r, err := http.NewRequestWithContext(s.Context(), method, "http://"+s.Addr().String(), strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body == "" {
		r.Body = nil
	}
	go func() {
		answer, err := s.Send(r, o)
		if err != nil {
			done <- err.Error()
			return
		}
		all, _ := io.ReadAll(answer.Body)
		done <- string(all)
	}()
	return done
}

func (s *server) want(got <-chan string, want string) {
	s.Helper()
	if g := <-got; g != want {
		s.Fatalf("%q, want %q", g, want)
	}
}

func TestAConnectionServesManyRequests(t *testing.T) {
	s := newServer(t)
	first := s.ask("GET", "", http1.Options{})
	conn, reader := s.accept()
	s.answer(conn, reader)
	s.want(first, "ok")
	for _, body := range []string{"a body", "", "another"} {
		next := s.ask("POST", body, http1.Options{})
		s.answer(conn, reader)
		s.want(next, "ok")
	}
}

// TestAKeptConnectionThatEndedIsNotUsed: a POST could not be sent again.
func TestAKeptConnectionThatEndedIsNotUsed(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed":             func(c net.Conn) { c.Close() },
		"something unasked":  func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
		"closed by the half": func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			first := s.ask("GET", "", http1.Options{})
			conn, reader := s.accept()
			s.answer(conn, reader)
			s.want(first, "ok")
			end(conn)
			second := s.ask("POST", "body", http1.Options{})
			s.answer(s.accept())
			s.want(second, "ok")
		})
	}
}

// TestAKeptConnectionThatEndsMeanwhile: the server closes it when the request is under way. GET is sent again, POST is not.
func TestAKeptConnectionThatEndsMeanwhile(t *testing.T) {
	for method, want := range map[string]string{"GET": "ok", "POST": "EOF"} {
		s := newServer(t)
		first := s.ask("GET", "", http1.Options{})
		conn, reader := s.accept()
		s.answer(conn, reader)
		s.want(first, "ok")
		second := s.ask(method, "", http1.Options{})
		if _, err := http.ReadRequest(reader); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if want == "ok" {
			s.answer(s.accept())
		}
		s.want(second, want)
	}
}

// TestAnEarlyAnswerIsRead: the server has enough before the body has ended.
func TestAnEarlyAnswerIsRead(t *testing.T) {
	s := newServer(t)
	body, more := io.Pipe()
	defer more.Close()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr().String(), body)
	go func() {
		conn, reader := s.accept()
		_, _ = reader.ReadString('\n')
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
	}()
	go func() { _, _ = io.WriteString(more, "a piece") }()
	answer, err := s.Send(r, http1.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if all, err := io.ReadAll(answer.Body); string(all) != "big" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

func TestPatienceEnds(t *testing.T) {
	s := newServer(t)
	answered := s.ask("GET", "", http1.Options{Patience: time.Millisecond})
	s.want(answered, http1.ErrSilent.Error())
}

// TestARequestThatIsBrokenOffKeepsNoPort: its connection is reset, so that the port is free at once. In order it would be kept for a minute.
func TestARequestThatIsBrokenOffKeepsNoPort(t *testing.T) {
	s := newServer(t)
	ctx, breakOff := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr().String(), nil)
	done := make(chan error)
	go func() { _, err := s.Send(r, http1.Options{}); done <- err }()
	conn, reader := s.accept()
	if _, err := http.ReadRequest(reader); err != nil {
		t.Fatal(err)
	}
	breakOff()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server reads %v", err)
	}
}

// TestABrokenBodyEndsTheRequest: the server gets no half of a body that it might take for all.
func TestABrokenBodyEndsTheRequest(t *testing.T) {
	s := newServer(t)
	body, more := io.Pipe()
	go func() { _, _ = io.WriteString(more, "a piece"); more.CloseWithError(errors.New("gone")) }()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr().String(), body)
	done := make(chan error)
	go func() { _, err := s.Send(r, http1.Options{}); done <- err }()
	_, reader := s.accept()
	if all, _ := io.ReadAll(reader); strings.HasSuffix(string(all), "0\r\n\r\n") {
		t.Errorf("%q", all)
	}
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
}

func TestWhatCouldBeReadAsAnotherRequestIsNotSent(t *testing.T) {
	s := newServer(t)
	for name, change := range map[string]func(*http.Request){
		"a line end in a value": func(r *http.Request) { r.Header.Set("X", "a\r\nb: c") },
		"a line end in a name":  func(r *http.Request) { r.Header["X\r\nb"] = []string{"c"} },
		"a space in the method": func(r *http.Request) { r.Method = "GET /x" },
		"a space in the target": func(r *http.Request) { r.URL.RawQuery = "a b" },
		"a path in the host":    func(r *http.Request) { r.Host = "a/b" },
		"a line end in a host":  func(r *http.Request) { r.Host = "a\r\nb: c" },
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String(), nil)
		change(r)
		if _, err := s.Send(r, http1.Options{}); err == nil {
			t.Errorf("%s was sent", name)
		}
	}
}

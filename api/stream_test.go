package api

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sseEvent is one event of a stream.
type sseEvent struct{ id, kind, data string }

// sseStream is what a follower reads.
type sseStream struct {
	t      testing.TB
	lines  *bufio.Scanner
	latest string // id
}

// next reads the next event; the end of the stream is one without anything.
func (s *sseStream) next() (e sseEvent) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			e.id, s.latest = value, value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
			e = sseEvent{}
		default:
			s.t.Errorf("a line of another kind: %q", s.lines.Text())
		}
	}
	return sseEvent{}
}

// end reads the last event and that nothing comes after it.
func (s *sseStream) end() string {
	s.t.Helper()
	e := s.next()
	if after := s.next(); e.kind != "end" || after != (sseEvent{}) {
		s.t.Errorf("%+v and then %+v", e, after)
	}
	return e.data
}

// openStream begins to follow at a server.
func openStream(t testing.TB, url string, header ...string) *sseStream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	return &sseStream{t: t, lines: bufio.NewScanner(response.Body)}
}

// served is the host on a port; streams that are opened after it are closed before it.
func (b *fixture) served(t testing.TB) *httptest.Server {
	server := httptest.NewServer(NewHandler(b.config))
	t.Cleanup(server.Close)
	return server
}

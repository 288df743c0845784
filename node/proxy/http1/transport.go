// Package http1 is a client of HTTP/1.1 for a proxy. Unlike http.Transport it has no goroutines for a connection: the caller writes the request and
// reads the answer, and only a request with a body has a goroutine, for as long as the body is sent. Answers are read by http.ReadResponse.
package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// ErrSilent is a server that has not begun to answer in time.
var ErrSilent = errors.New("the server did not answer in time")

// Transport sends requests over connections that it keeps for a while. Its methods may be called at once.
type Transport struct {
	// Dial connects to an address; required.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	idle pool
}

// Options are the options of one request.
type Options struct {
	// Patience bounds the wait for the server to begin its answer, from the last piece of the request's body on; 0 is forever.
	Patience time.Duration
	// Informed is called with each answer of 1xx before the last one; it may be nil.
	Informed func(status int, header http.Header)
}

// Send sends one request to r.URL.Host and returns the head of its answer. As that of http.Transport, the body of a 101 is an io.ReadWriteCloser, and
// a request that means the same twice and meets the end of a kept connection is sent again. The end of the request's context closes the
// connection, also while the answer's body is read.
func (t *Transport) Send(r *http.Request, o Options) (*http.Response, error) {
	for first := true; ; first = false {
		c, err := t.connection(r, first)
		if err != nil {
			closeBody(r)
			return nil, err
		}
		e := &roundTrip{conn: c, request: r, Options: o, pool: &t.idle}
		answer, err := e.send()
		if err == nil {
			return answer, nil
		}
		if gone := r.Context().Err(); gone != nil {
			return nil, gone
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, ErrSilent
		}
		if !c.kept || !isEnd(err) || !mayRepeat(r) || e.began {
			return nil, err
		}
	}
}

// connection is a kept one, or one that is dialed.
func (t *Transport) connection(r *http.Request, mayBeKept bool) (*conn, error) {
	if mayBeKept {
		if c := t.idle.take(r.URL.Host, time.Now()); c != nil {
			return c, nil
		}
	}
	dialed, err := t.Dial(r.Context(), r.URL.Host)
	if err != nil {
		return nil, err
	}
	return newConn(dialed, r.URL.Host), nil
}

// CloseIdleConnections closes the kept connections. Those in use go on.
func (t *Transport) CloseIdleConnections() { t.idle.close() }

// isEnd reports whether an error is the end of the connection, not something that the server said.
func isEnd(err error) bool {
	var operation *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &operation)
}

func mayRepeat(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return !hasBody(r)
	}
	return false
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

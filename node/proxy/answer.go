package proxy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// forwardAnswer gives the client an answer: each piece as it comes when it is not known how many there are.
func forwardAnswer(w http.ResponseWriter, answer *http.Response) {
	dropHopByHop(answer.Header)
	h := w.Header()
	addHeader(h, answer.Header)
	if _, typed := h["Content-Type"]; !typed {
		h["Content-Type"] = nil // or net/http would guess one
	}
	announced := len(answer.Trailer)
	for name := range answer.Trailer {
		h.Add("Trailer", name)
	}
	w.WriteHeader(answer.StatusCode)
	if err := copyAnswer(w, answer); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it has for all
	}
	if len(answer.Trailer) == 0 {
		return
	}
	flush(w) // a length instead of chunks would leave no place for trailers
	prefix := ""
	if len(answer.Trailer) != announced {
		prefix = http.TrailerPrefix
	}
	for name, values := range answer.Trailer {
		h[prefix+name] = values
	}
}

func addHeader(to, from http.Header) {
	for name, values := range from {
		if before := to[name]; len(before) > 0 {
			values = append(before[:len(before):len(before)], values...)
		}
		to[name] = values
	}
}

// inform passes an answer of 1xx on. What was set for the last answer stays.
func inform(w http.ResponseWriter, status int, header http.Header) {
	h := w.Header()
	before := maps.Clone(h)
	addHeader(h, header)
	w.WriteHeader(status)
	clear(h)
	maps.Copy(h, before)
}

func copyAnswer(w http.ResponseWriter, answer *http.Response) error {
	streams := isStream(answer)
	if ready, ok := answer.Body.(interface{ Ready() bool }); streams && !(ok && ready.Ready()) {
		flush(w)
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(buffer[:])
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case streams:
			flush(w)
		}
	}
}

func isStream(answer *http.Response) bool {
	if answer.ContentLength == -1 {
		return true
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

func flush(w http.ResponseWriter) {
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// answerBody is a target's answer on its way to the client.
type answerBody struct {
	io.ReadCloser
	of     *upstreamRequest
	closed atomic.Bool
}

// Read counts bytes and notes when the target breaks off.
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.sent.Add(int64(n))
	if err != nil && err != io.EOF && !errors.Is(err, context.Canceled) {
		b.of.broken.Store(true)
	}
	return n, err
}

// Ready reports whether Read surely returns without waiting.
func (b *answerBody) Ready() bool {
	ready, ok := b.ReadCloser.(interface{ Ready() bool })
	return ok && ready.Ready()
}

// Close ends the exchange.
func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	if !b.closed.Swap(true) {
		b.of.group.release(b.of.target)
	}
	return err
}

// Write sends to a target whose connection is upgraded.
func (b *answerBody) Write(p []byte) (int, error) {
	to, ok := b.ReadCloser.(io.Writer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return to.Write(p)
}

// CloseWrite tells such a target that nothing more comes.
func (b *answerBody) CloseWrite() error {
	if half, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

var errNotAsked = errors.New("the target switched to a protocol that was not asked for")

// upgrade has the client and its target talk past HTTP.
func (x *upstreamRequest) upgrade(w http.ResponseWriter, r *http.Request, answer *http.Response) {
	target := answer.Body.(*answerBody)
	if asked := upgradeType(r.Header); asked == "" || !strings.EqualFold(asked, upgradeType(answer.Header)) {
		x.fail(w, errNotAsked)
		return
	}
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		x.fail(w, err)
		return
	}
	defer conn.Close()
	answer.Body = nil // Write is to write the head only
	if err := answer.Write(both); err != nil {
		return
	}
	if err := both.Flush(); err != nil {
		return
	}
	join(&upgradedClient{conn, both}, target)
}

// upgradedClient is a client whose connection is no HTTP any more. What it has sent meanwhile is read first.
type upgradedClient struct {
	net.Conn
	read io.Reader
}

// Read reads from the client.
func (c *upgradedClient) Read(p []byte) (int, error) { return c.read.Read(p) }

// CloseWrite tells the client that nothing more comes.
func (c *upgradedClient) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pinion/api/ecs"
	"pinion/api/wire"
)

// answerTimeout is how long another host may take until it begins to answer. It may then stream for hours.
const answerTimeout = 10 * time.Second

// forward has the leader answer the request. It returns errAnswered, or nothingDone when the request may be tried again.
func (d *door) forward(w http.ResponseWriter, r *http.Request, address string, body []byte) (caller, error) {
	answer, end, err := d.passOn(r, address, "", body)
	defer end()
	if err != nil {
		return caller{}, err
	}
	d.relay(w, r, answer, end)
	return caller{}, errAnswered
}

// passOn sends the leader the request as it came: method, path, query, host, headers and body, so that the signature in it
// means there what it means here. state names what this host has, if it could answer from that; see confirm.go. end must be
// called in any case. The error is nothingDone when the request may be tried again.
func (d *door) passOn(r *http.Request, address, state string, body []byte) (answer *http.Response, end context.CancelFunc, err error) {
	if d.Forward == nil {
		return nil, func() {}, wire.Errorf(wire.Server, "This host does not lead the pool, and has no way to the leader at %s.", address)
	}
	header := headersOf(r)
	header.Set(forwardedHeader, d.HostID)
	if d.Trusted {
		header.Set(trustedHeader, "true")
	}
	if state != "" {
		header.Set(stateVersionHeader, state)
	}
	answer, end, err = d.ask(r, address, header, body)
	switch {
	case err == nil && answer.Header.Get(notLeaderHeader) != "":
		answer.Body.Close()
		err = retryableError{wire.Errorf(wire.Server, "The pool has no leader that answers now: %s, which led it a moment ago, does not any more. Nothing was done; try again.", address)}
	case err == nil:
	case notSent(err) || !mayWrite(r):
		err = retryableError{wire.Errorf(wire.Server, "The leader of the pool at %s cannot be reached: %v. Nothing was done; try again.", address, err)}
	default:
		err = wire.Errorf(wire.Server, "The leader of the pool at %s was asked and gave no answer: %v. It may have been done or not: look before you repeat it, or repeat it with the same client token.", address, err)
	}
	return answer, end, err
}

// ask sends the request to another host. end must be called when the answer has been read; earlier, it breaks it off.
func (d *door) ask(r *http.Request, address string, header http.Header, body []byte) (answer *http.Response, end context.CancelFunc, err error) {
	ctx, end := context.WithCancel(r.Context())
	target := &url.URL{Scheme: "https", Host: address, Path: PeerPrefix + r.URL.Path, RawQuery: r.URL.RawQuery}
	if r.URL.RawPath != "" {
		target.RawPath = PeerPrefix + r.URL.RawPath
	}
	request := (&http.Request{
		Method: r.Method, URL: target, Host: r.Host, Header: header, Body: http.NoBody, ContentLength: int64(len(body)),
	}).WithContext(ctx)
	if len(body) > 0 {
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		request.Body, _ = request.GetBody()
	}
	patience := time.AfterFunc(answerTimeout, end)
	defer patience.Stop()
	answer, err = d.Forward.RoundTrip(request)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		err = errors.New("nothing came for " + answerTimeout.String())
	}
	return answer, end, err
}

// relay passes an answer on as it comes. One of unknown length is a stream: each piece goes on at once, and it ends
// when this host stops.
func (d *door) relay(w http.ResponseWriter, r *http.Request, answer *http.Response, end context.CancelFunc) {
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	dropHopHeaders(w.Header())
	w.WriteHeader(answer.StatusCode)
	out := &flushWriter{w: w, control: http.NewResponseController(w), flush: answer.ContentLength < 0}
	if out.flush {
		defer d.atClosing(r.Context(), end)()
		_ = out.control.Flush() // a client that is gone is noticed at the next piece
	}
	if _, err := io.Copy(out, answer.Body); err != nil {
		d.Log.Debug("an answer of another host broke off", "requestId", requestID(w), "path", r.URL.Path, "err", err)
		panic(http.ErrAbortHandler) // the status is sent: only a broken connection tells that something is missing
	}
	out.resetDeadline()
}

// flushWriter writes what comes and gives the client its time anew for each piece.
type flushWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	flush   bool
	started bool
}

func (p *flushWriter) resetDeadline() { _ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (p *flushWriter) Write(piece []byte) (int, error) {
	p.started = true
	p.resetDeadline()
	n, err := p.w.Write(piece)
	if err != nil || !p.flush {
		return n, err
	}
	if err := p.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return n, err
	}
	return n, nil
}

// headersOf are the headers of a request without those that are about its connection.
func headersOf(r *http.Request) http.Header {
	header := r.Header.Clone()
	dropHopHeaders(header)
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "") // or the transport names itself
	}
	return header
}

func dropHopHeaders(header http.Header) {
	for _, list := range header.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"} {
		header.Del(name)
	}
}

// notSent reports whether an error says that the other host has seen nothing of the request.
func notSent(err error) bool {
	problem, ok := errors.AsType[*net.OpError](err)
	return ok && problem.Op == "dial"
}

// mayWrite reports whether a request may change the state, so that asking twice is not the same as asking once.
func mayWrite(r *http.Request) bool {
	name, plain := strings.CutPrefix(r.URL.Path, "/v1/")
	switch {
	case r.Method == http.MethodGet, !plain && isCloudWatchLogs(r):
		return false
	case !plain:
		_, name, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	}
	operation, known := ecs.Operations[name]
	return !known || operation.Writes
}

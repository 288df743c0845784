package httpx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ResponseTimeout is how long another host may take until it begins to respond. The response may then stream for hours.
const ResponseTimeout = 10 * time.Second

// Peers is the reverse proxy to the other hosts of the pool.
type Peers struct {
	Transport http.RoundTripper        // reaches the peer listener of the host at a URL's host:port; nil: no other host is reached
	HostID    string                   // of this host
	Stop      Stop                     // ends the streams that are copied
	Connected func(hostID string) bool // whether the leader, if this host leads, has heard of a host lately
	Limits    *Limits                  // bounds the requests that wait for other hosts, see Await; nil: nothing does
}

// Await is Limits.Await, for what asks another host.
func (p *Peers) Await(x *Exchange, owner, hostID string) error {
	if p.Limits == nil {
		return nil
	}
	return p.Limits.Await(x, owner, hostID)
}

// HoldList is Limits.HoldList, for what puts the answers of other hosts together.
func (p *Peers) HoldList(x *Exchange, owner string) error {
	if p.Limits == nil {
		return nil
	}
	return p.Limits.HoldList(x, owner)
}

// RoundTrip sends a request to another host: method, path, query and host of r, with this header and body. end must be
// called when the response has been read; earlier, it breaks it off.
func (p *Peers) RoundTrip(r *http.Request, address string, header http.Header, body []byte) (response *http.Response, end context.CancelFunc, err error) {
	ctx, end := context.WithCancel(r.Context())
	request := forwarded(ctx, r, address, header, http.NoBody, int64(len(body)))
	if len(body) > 0 {
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		request.Body, _ = request.GetBody()
	}
	response, err = p.await(request, end, r.Context())
	return response, end, err
}

// Upload is RoundTrip for a request whose body is passed on as it comes. The answer comes when the other host has done what it is to do with
// all of it, which has no bound in time but that of r.
func (p *Peers) Upload(r *http.Request, address string, header http.Header) (response *http.Response, end context.CancelFunc, err error) {
	ctx, end := context.WithCancel(r.Context())
	response, err = p.Transport.RoundTrip(forwarded(ctx, r, address, header, r.Body, r.ContentLength))
	return response, end, err
}

// forwarded is a request as another host gets it.
func forwarded(ctx context.Context, r *http.Request, address string, header http.Header, body io.ReadCloser, length int64) *http.Request {
	target := &url.URL{Scheme: "https", Host: address, Path: PeerPrefix + r.URL.Path, RawQuery: r.URL.RawQuery}
	if r.URL.RawPath != "" {
		target.RawPath = PeerPrefix + r.URL.RawPath
	}
	return (&http.Request{Method: r.Method, URL: target, Host: r.Host, Header: header, Body: body, ContentLength: length}).WithContext(ctx)
}

// await sends a request, and waits for its response as long as another host may take. end breaks it off; parent says whether somebody else has.
func (p *Peers) await(request *http.Request, end func(), parent context.Context) (*http.Response, error) {
	timeout := time.AfterFunc(ResponseTimeout, end)
	defer timeout.Stop()
	response, err := p.Transport.RoundTrip(request)
	if err != nil && request.Context().Err() != nil && parent.Err() == nil {
		err = errors.New("nothing came for " + ResponseTimeout.String())
	}
	return response, err
}

// Stream begins a request to another host whose body goes on beside the response. end is as RoundTrip's; it also ends the body.
func (p *Peers) Stream(ctx context.Context, address, path string, header http.Header, body io.ReadCloser) (response *http.Response, end context.CancelFunc, err error) {
	streaming, cancel := context.WithCancel(ctx)
	end = func() {
		cancel()
		body.Close()
	}
	request := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: address, Path: PeerPrefix + path}, Header: header, Body: body, ContentLength: -1,
	}).WithContext(streaming)
	response, err = p.await(request, end, ctx)
	return response, end, err
}

// Copy passes a response on as it comes. One of unknown length is a stream: each chunk is flushed, and it ends when this
// host stops.
func (p *Peers) Copy(x *Exchange, response *http.Response, end context.CancelFunc) {
	defer response.Body.Close()
	x.Forwarded = true
	for name, values := range response.Header {
		x.Header()[name] = values
	}
	dropHopHeaders(x.Header())
	x.WriteHeader(response.StatusCode)
	out := &StreamWriter{Exchange: x, Flush: response.ContentLength < 0}
	if out.Flush {
		defer p.Stop.AfterFunc(x.Context(), end)()
		_ = x.Controller().Flush() // a client that is gone is noticed at the next chunk
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		x.Log.Debug("an answer of another host broke off", "requestId", x.ID, "path", x.Request.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // the status is sent: only a broken connection tells that something is missing
	}
	out.ResetDeadline()
}

// ForwardHeader returns the headers of a request without those about its connection.
func ForwardHeader(r *http.Request) http.Header {
	header := r.Header.Clone()
	dropHopHeaders(header)
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "") // or the transport adds its own
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

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pinion/node/proxy/http1"
	"pinion/raftfsm/traffic"
)

// serveHTTP answers one request.
func (l *listener) serveHTTP(w http.ResponseWriter, r *http.Request) {
	t := l.table.Load()
	c := &call{access: l.proxy.access, listener: &t.config, request: r, client: r.RemoteAddr, began: time.Now()}
	defer c.finish()
	conn, _ := r.Context().Value(connectionKey{}).(*connection)
	if !l.requests.begin(conn) {
		w.Header().Set("Retry-After", "1")
		c.answer(w, http.StatusServiceUnavailable, fmt.Sprintf("%d requests are under way, which is the bound", l.requests.most))
		return
	}
	defer l.requests.end(conn)
	if status, why := refuse(r); status != 0 {
		w.Header().Set("Connection", "close")
		c.answer(w, status, why)
		return
	}
	closeAfter(w, r)
	a := t.actionFor(r)
	switch {
	case a.fixed != nil:
		c.fixed(w, a.fixed)
		return
	case a.redirect != nil:
		c.redirect(w, r, a.redirect)
		return
	}
	if c.group = a.group(); c.group == nil {
		c.answer(w, http.StatusServiceUnavailable, "no target group takes this request")
		return
	}
	settings := c.group.settings()
	x := upstreamRequest{call: c, table: t, settings: settings, upstream: l.proxy.upstream.of(settings.Version)}
	x.serve(w, r)
}

// fail answers for a target that did not.
func (x *upstreamRequest) fail(w http.ResponseWriter, err error) {
	var unavailable *unavailableError
	status, why := http.StatusBadGateway, fmt.Sprintf("no target of group %s answered", x.group.id)
	code := grpcUnavailable
	switch {
	case x.request.Context().Err() != nil || errors.Is(err, context.Canceled):
		x.status = clientGone
		panic(http.ErrAbortHandler)
	case errors.Is(err, errRequestTimeout):
		status, why = http.StatusGatewayTimeout, fmt.Sprintf("the request was not answered in %v", x.table.config.RequestTimeout)
		code = grpcDeadlineExceeded
	case errors.As(err, &unavailable):
		status, why = http.StatusServiceUnavailable, unavailable.reason
		w.Header().Set("Retry-After", "1")
	case errors.Is(err, errBadBody):
		status, why = http.StatusBadRequest, err.Error()
		w.Header().Set("Connection", "close")
	case errors.Is(err, http1.ErrSilent):
		status, why = http.StatusGatewayTimeout, fmt.Sprintf("a target of group %s did not answer for %v", x.group.id, x.table.idleTimeout)
	}
	if x.settings.Version == traffic.GRPC && strings.HasPrefix(x.request.Header.Get("Content-Type"), "application/grpc") {
		x.failGRPC(w, code, why)
		return
	}
	x.answer(w, status, why)
}

// Status codes of gRPC.
const (
	grpcDeadlineExceeded = "4" // a client of gRPC does not send it again, as it does for the other one
	grpcUnavailable      = "14"
)

// failGRPC says the same as a gRPC status, which a client of gRPC understands: headers that are trailers at once.
func (x *upstreamRequest) failGRPC(w http.ResponseWriter, code, why string) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", code)
	h.Set("Grpc-Message", why)
	x.broken.Store(true)
	x.status = http.StatusOK
	w.WriteHeader(http.StatusOK)
}

// answer answers for the proxy itself.
func (c *call) answer(w http.ResponseWriter, status int, why string) {
	c.fixed(w, &traffic.FixedResponse{StatusCode: status, Body: fmt.Sprintf("%d %s: %s\n", status, http.StatusText(status), why)})
}

func (c *call) fixed(w http.ResponseWriter, f *traffic.FixedResponse) {
	c.status = f.StatusCode
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if f.ContentType != "" {
		h.Set("Content-Type", f.ContentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(f.Body)))
	w.WriteHeader(f.StatusCode)
	n, _ := w.Write([]byte(f.Body))
	c.sent.Store(int64(n))
}

// redirect answers with the address that the action makes of the request's.
func (c *call) redirect(w http.ResponseWriter, r *http.Request, to *traffic.Redirect) {
	of := strings.NewReplacer(
		"#{protocol}", strings.ToLower(string(c.listener.Protocol)), "#{host}", withoutPort(r.Host), "#{port}", strconv.Itoa(c.listener.Port),
		"#{path}", strings.TrimPrefix(r.URL.EscapedPath(), "/"), "#{query}", r.URL.RawQuery)
	part := func(given, usual string) string {
		if given == "" {
			given = usual
		}
		return of.Replace(given)
	}
	query := part(to.Query, "#{query}")
	if query != "" {
		query = "?" + query
	}
	w.Header().Set("Location", strings.ToLower(part(to.Protocol, "#{protocol}"))+"://"+part(to.Host, "#{host}")+":"+part(to.Port, "#{port}")+
		part(to.Path, "/#{path}")+query)
	c.fixed(w, &traffic.FixedResponse{StatusCode: to.StatusCode})
}

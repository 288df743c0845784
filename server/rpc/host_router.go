package rpc

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// HostRouter tells apart the hosts of the pool that call this one. Its fields are required; it is safe for concurrent use.
type HostRouter struct {
	Callers Callers
	Port    *peer.Port // is told of calls that are refused

	calls Limit
	api   atomic.Pointer[http.Handler] // nil until it is set
}

// Callers knows the hosts that call.
type Callers interface {
	// IsMember reports whether a host still belongs to the pool.
	IsMember(hostID string) bool
	// IsServer reports whether a host is one of the pool's servers, as this host knows.
	IsServer(hostID string) bool
}

// Members handles the calls of hosts that belong to the pool, and refuses a host that was removed after it connected.
func (h *HostRouter) Members(handle HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from := peer.HostID(r.Context())
		if from == "" || !h.Callers.IsMember(from) {
			h.refuse(w, r, from, spec.Removed(from))
			return
		}
		handle(w, r, from)
	}
}

// Limited is Members for calls of which agents make so many at a time, see Limit.
func (h *HostRouter) Limited(handle HandlerFunc) http.HandlerFunc {
	return h.Members(func(w http.ResponseWriter, r *http.Request, from string) {
		if h.Callers.IsServer(from) {
			handle(w, r, from)
			return
		}
		h.calls.Handle(w, "host "+from, func() { handle(w, r, from) })
	})
}

// Servers refuses calls from hosts that are not servers, before it reads what they send. An agent asks what a server last told it.
func (h *HostRouter) Servers(handle HandlerFunc) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if !h.Callers.IsServer(from) {
			h.refuse(w, r, from, fmt.Errorf("host %s is no server of the pool, and may not call %s", from, r.URL.Path))
			return
		}
		handle(w, r, from)
	}
}

// refuse answers a call that the host may not make.
func (h *HostRouter) refuse(w http.ResponseWriter, r *http.Request, from string, err error) {
	h.Port.ReportRefusal(peer.Refusal{Operation: peer.OpCall, HostID: from, Address: r.RemoteAddr, Reason: err})
	WriteError(w, err)
}

// HandleAPI sets the handler for requests to the API that other hosts forward.
func (h *HostRouter) HandleAPI(api http.Handler) { h.api.Store(&api) }

// ServeAPI passes a request to the API of this host on, with its Caller.
func (h *HostRouter) ServeAPI(w http.ResponseWriter, r *http.Request, from string) {
	r = r.WithContext(context.WithValue(r.Context(), apiCallerKey{}, apiCaller{from, h.Callers.IsServer(from)}))
	if api := h.api.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	http.Error(w, "this host is starting", http.StatusServiceUnavailable)
}

// apiCaller is the host that made a request to the API of this one.
type apiCaller struct {
	hostID   string
	isServer bool
}

type apiCallerKey struct{}

// Caller is the host that made a request which the handler of HandleAPI got, as its certificate says, and whether it is one of the
// pool's servers.
func Caller(ctx context.Context) (hostID string, isServer bool) {
	c, _ := ctx.Value(apiCallerKey{}).(apiCaller)
	return c.hostID, c.isServer
}

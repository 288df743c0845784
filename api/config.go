package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"pinion/api/audit"
	"pinion/api/events"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Config is what a handler serves from. The fields about other hosts may be left out: a host that is alone answers
// everything itself.
type Config struct {
	Store   Store
	Agent   rest.Agent
	Log     *slog.Logger
	Audit   *audit.Log       // of refusals and of what administrators do; nil: none
	Version string           // of this binary, for GET /v1/version
	HostID  string           // of this host: logs of its tasks are read here, those of other tasks at their hosts
	Now     func() time.Time // time.Now when nil
	Trusted bool             // a request without credentials is root's: the root-only unix socket
	Region  string           // of ARNs in responses to requests that name none; DefaultRegion when empty

	// FromPeer is the host that sent a request, on the listener that only hosts of the pool can reach: see httpx.PeerHeaders. It
	// is nil on every other listener.
	FromPeer func(*http.Request) httpx.Peer
	Leader   leader.Leadership // nil: this host leads
	Forward  http.RoundTripper // reaches the FromPeer handler of the host at a URL's host:port; nil: nothing is forwarded
	Local    leader.LocalState // nil: reads with stale=true are like all others
	History  events.History    // nil, or Local is: this host serves no events
	Queue    rest.Queue        // nil: this host is alone and nothing waits
	Services Rollouts          // nil: likewise
	Ended    rest.Ended        // tasks that have ended; nil: none are kept
	Admin    rest.Admin

	// SignatureUsed reports whether the log has a change by a request with this signature, which an earlier leader has carried
	// out, or may have had one; nil: there was no earlier leader.
	SignatureUsed func(signature spec.Signature, signedAt time.Time) bool

	Shared *Shared // of all handlers of this process; nil: this one has its own
}

// DefaultRegion is the region of ARNs when a request names none.
const DefaultRegion = "us-east-1"

// Store is the replicated state. A Member of package server satisfies it.
type Store interface {
	// View is linearizable: it holds every change acknowledged before the call.
	View(ctx context.Context) (*raftfsm.View, error)
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Run places and records tasks; the reply is what RunTask answers.
	Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error)
	// Connected reports whether the host is known, not given up, and has been heard of lately.
	Connected(hostID string) bool
}

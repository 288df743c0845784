package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Dispatcher is the server's side of the sessions with all its hosts. The server may be any of the pool: it answers from
// its own state, and has the leader do what only the leader can do.
type Dispatcher struct {
	host LocalHost
	log  *slog.Logger
	open hostSessions
}

// LocalHost is what a Dispatcher needs of its host.
type LocalHost interface {
	// Backend is that of the server here, nil while this host is an agent.
	Backend() *Backend
	// PoolInfo is what this host knows of its pool: an agent tells with it where servers are.
	PoolInfo() spec.PoolInfo
	// CheckIncarnation fails when a host knows of a recovery of the pool that this one does not know. Without proof, which is signed by the
	// pool's CA, its word does not count.
	CheckIncarnation(incarnation int, proof *spec.PoolInfo) error
}

// NewDispatcher returns the dispatcher of a host.
func NewDispatcher(host LocalHost, log *slog.Logger) *Dispatcher {
	return &Dispatcher{host: host, log: log}
}

// ServeSession holds one session with the host from until one of the ends closes it.
func (d *Dispatcher) ServeSession(w http.ResponseWriter, r *http.Request, from string) {
	done, ok := d.open.add(from)
	if !ok {
		rpc.WriteError(w, fmt.Errorf("%w: host %s has %d sessions with this server", spec.ErrBusy, from, maxHostSessions))
		return
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &hostSession{
		Dispatcher: d, hostID: from, in: newMessageReader(r.Body), out: json.NewEncoder(w), control: http.NewResponseController(w),
		slots: make(chan struct{}, maxInFlight), large: make(chan struct{}, 1),
	}
	w.WriteHeader(http.StatusOK)
	_ = s.control.Flush()
	if err := s.serve(ctx, cancel); err != nil && ctx.Err() == nil {
		d.log.Debug("a session ended", "hostId", from, "reason", err)
		_ = s.send(serverMessage{Error: rpc.ToWire(err)})
	}
}

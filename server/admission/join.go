package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/clientnet"
	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// PathJoin is where a host without a certificate asks to be admitted; see JoinHandler.
const PathJoin = "/join"

const (
	joinTimeout = 30 * time.Second // how long a pool that cannot answer is asked again
	joinBackoff = 500 * time.Millisecond
	joinMaxWait = 5 * time.Second // to which the pauses between them grow
)

// Join is the joining host's side of admission.
type Join struct {
	Address  string // of any host of the pool
	Token    string
	HostID   string
	Cluster  string        // that the host was told to serve; empty for the token's
	Identity *pki.Identity // opened with OpenJoining
	Now      func() time.Time
	Log      *slog.Logger
}

// Do asks the pool to admit this host. A pool that has no leader at the moment is asked again for 30 s; a refusal is final.
func (j Join) Do(ctx context.Context) (JoinReply, error) {
	reply, err := j.do(ctx)
	if err != nil {
		err = fmt.Errorf("join the pool at %s: %w", j.Address, err)
	}
	return reply, err
}

func (j Join) do(ctx context.Context) (reply JoinReply, err error) {
	token, err := ParseToken(j.Token)
	if err != nil {
		return reply, err
	}
	csr, err := j.Identity.NewRequest()
	if err != nil {
		return reply, err
	}
	client := peer.JoinClient(token.Fingerprint, j.Now, nil)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	pool := &rpc.Client{HTTP: client}
	request := JoinRequest{HostID: j.HostID, TokenID: token.ID, Secret: token.Secret, CSR: csr, Cluster: j.Cluster}
	said := ""
	for delays := (backoff.Backoff{Min: joinBackoff, Max: joinMaxWait}); ; {
		err := pool.Call(ctx, j.Address, PathJoin, request, &reply)
		if err == nil || !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, peer.ErrOtherPool) {
			return reply, err
		}
		if text := err.Error(); text != said { // once, not with each try
			said = text
			j.Log.Warn("the pool cannot admit this host now; trying again for 30s", "address", j.Address, "error", err)
		}
		if delays.Wait(ctx) != nil {
			return reply, err
		}
	}
}

// JoinHandler answers hosts without a certificate on the join listener of every host. admit has the leader decide; removal
// tells whether a host was removed from the pool. Refusals are logged with the address that they went to, and an address that has
// had too many is refused unheard for a while.
func JoinHandler(admit func(ctx context.Context, r JoinRequest) (JoinReply, error), removal func(hostID string) RemovalStatus, refusals peer.Refusals, now func() time.Time, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	limit := &refusalLimit{now: now}
	mux.HandleFunc("POST "+PathJoin, func(w http.ResponseWriter, r *http.Request) {
		from := clientnet.Prefix(r.RemoteAddr)
		if wait := limit.wait(from); wait > 0 {
			err := fmt.Errorf("too many joins from %s were refused: try again in %s", from, wait.Round(time.Second))
			refusals.Report(peer.Refusal{Operation: peer.OpJoin, Address: r.RemoteAddr, Reason: err})
			rpc.WriteError(w, err)
			return
		}
		rpc.JSON(func(ctx context.Context, _ string, in JoinRequest) (JoinReply, error) {
			reply, err := admit(ctx, in)
			if err != nil && !errors.Is(err, spec.ErrUnavailable) {
				limit.refused(from)
				log.Warn("a host that wants to join is refused", "from", from, "hostId", clip(in.HostID), "token", clip(in.TokenID), "reason", err)
				refusals.Report(peer.Refusal{Operation: peer.OpJoin, HostID: clip(in.HostID), Address: r.RemoteAddr, Reason: err})
			}
			return reply, err
		})(w, r, "")
	})
	status := rpc.JSON(func(_ context.Context, _ string, s RemovalStatus) (RemovalStatus, error) {
		return removal(s.HostID), nil
	})
	mux.HandleFunc("POST "+PathRemovalStatus, func(w http.ResponseWriter, r *http.Request) { status(w, r, "") })
	calls := new(rpc.Limit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now().UTC().Format(http.TimeFormat)) // a host whose clock is off learns by how much
		calls.Handle(w, clientnet.Prefix(r.RemoteAddr).String(), func() { mux.ServeHTTP(w, r) })
	})
}

// clip shortens what somebody sent for the log.
func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "..."
	}
	return text
}

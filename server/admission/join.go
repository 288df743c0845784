package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

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
)

// Join is the joining host's side of admission.
type Join struct {
	Address  string // of any host of the pool
	Token    string
	HostID   string
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
	client := peer.JoinClient(token.Fingerprint, j.Now)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	pool := &rpc.Client{HTTP: client}
	request := JoinRequest{HostID: j.HostID, TokenID: token.ID, Secret: token.Secret, CSR: csr, PreviousCert: j.Identity.PreviousCert()}
	for {
		err := pool.Call(ctx, j.Address, PathJoin, request, &reply)
		if err == nil || !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, peer.ErrOtherPool) {
			return reply, err
		}
		j.Log.Warn("the pool cannot admit this host now; it is asked again", "address", j.Address, "error", err)
		select {
		case <-time.After(joinBackoff):
		case <-ctx.Done():
			return reply, err
		}
	}
}

// JoinHandler answers hosts without a certificate on the join listener of every host. admit has the leader decide; removed
// reports whether a host was removed from the pool.
func JoinHandler(admit func(ctx context.Context, r JoinRequest) (JoinReply, error), removed func(hostID string) bool) http.Handler {
	mux := http.NewServeMux()
	handle(mux, PathJoin, admit)
	handle(mux, PathRemovalStatus, func(_ context.Context, s RemovalStatus) (RemovalStatus, error) {
		return RemovalStatus{HostID: s.HostID, Removed: removed(s.HostID)}, nil
	})
	return mux
}

func handle[In, Out any](mux *http.ServeMux, path string, f func(context.Context, In) (Out, error)) {
	handler := rpc.JSON(func(ctx context.Context, _ string, in In) (Out, error) { return f(ctx, in) })
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { handler(w, r, "") })
}

package rest

import (
	"context"
	"net/http"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
)

// versionView is what a host tells those whom it knows by its own copy of the state, or through its socket.
type versionView struct {
	Version string `json:"version"`
	HostID  string `json:"hostId,omitempty"`
}

func (a *API) version(x *httpx.Exchange, res leader.Resolution) error {
	if !res.Principal.Role.May(accesskey.RoleRead) {
		return reply(x, healthView{"ok"}) // the version says which faults to look for
	}
	return reply(x, versionView{a.Version, a.HostID})
}

// healthTimeout is how long a host may look for the leader of its pool.
const healthTimeout = 2 * time.Second

// healthView is the response to a health check. It is for everyone, so it holds nothing about the pool.
type healthView struct {
	Status string `json:"status"` // "ok" or "unavailable"; the host's log tells why
}

// health replies 200 when this host can answer for its pool: it leads, or knows the leader. It asks no other host, so that
// nobody can keep the pool busy with it.
func (a *API) health(x *httpx.Exchange, _ leader.Resolution) error {
	ctx, cancel := context.WithTimeout(x.Context(), healthTimeout)
	defer cancel()
	if err := a.healthy(ctx); err != nil {
		x.Log.Debug("unhealthy", "requestId", x.ID, "error", err)
		x.Reply(http.StatusServiceUnavailable, healthView{"unavailable"})
		return nil
	}
	return reply(x, healthView{Status: "ok"})
}

func (a *API) healthy(ctx context.Context) error {
	if a.Leader == nil {
		_, err := a.Store.View(ctx) // alone: there is no other host to ask
		return err
	}
	_, _, err := a.Leader.Leader(ctx)
	return err
}

package rest

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Finding is what one check of a machine has found.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"` // ok, warning or failed
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do about it; empty when all is well
}

// Doctor checks the machine of this host as `pinion doctor` does.
type Doctor interface {
	Examine(ctx context.Context) []Finding
}

// examineTimeout bounds all checks of a machine.
const examineTimeout = time.Minute

// examining is held while a request has this machine checked, which is one at a time: some checks write to the disk.
var examining sync.Mutex

// doctor serves the checks of machines.
type doctor struct {
	peers  *httpx.Peers
	checks Doctor // nil: this host does not check its machine
}

func (d doctor) routes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/v1/admin/hosts/{id}/doctor", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "has a host check its machine, as pinion doctor does there",
			Out: reflect.TypeFor[[]Finding](), Serve: OnHost(d.peers, "Look at it there, with `sudo pinion doctor`.", d.serveLocal), Host: d.serveLocal},
	}
}

// serveLocal is the answer of the host itself.
func (d doctor) serveLocal(x *httpx.Exchange, id string) error {
	if id != d.peers.HostID {
		return wire.Errorf(httpx.NotFound, "This host is %s, not %s.", d.peers.HostID, id)
	}
	if d.checks == nil {
		return wire.Errorf(wire.Server, "This host does not check its machine.")
	}
	if !examining.TryLock() {
		return wire.Errorf(httpx.Unavailable, "This host is checking its machine for somebody else: try again in a minute.")
	}
	defer examining.Unlock()
	ctx, cancel := context.WithTimeout(x.Request.Context(), examineTimeout)
	defer cancel()
	return reply(x, d.checks.Examine(ctx))
}

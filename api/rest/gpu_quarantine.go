package rest

import (
	"net/http"
	"reflect"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/spec"
)

// gpuQuarantine serves the quarantine of GPUs.
type gpuQuarantine struct {
	store Store
	now   func() time.Time
}

func (q gpuQuarantine) routes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/v1/admin/gpus/quarantine", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "keeps a GPU from new tasks",
			In: reflect.TypeFor[gpuInput](), Out: reflect.TypeFor[struct{}](), Serve: q.begin},
		{Method: http.MethodPost, Path: "/v1/admin/gpus/release", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "ends the quarantine of a GPU",
			In: reflect.TypeFor[gpuInput](), Out: reflect.TypeFor[struct{}](), Serve: q.release},
	}
}

type gpuInput struct {
	GPU    string `json:"gpu"`              // UUID
	Reason string `json:"reason,omitempty"` // of a quarantine, for people
}

// maxGPUReason bounds what a caller can put into the state.
const maxGPUReason = 1000

func (q gpuQuarantine) begin(x *httpx.Exchange, res leader.Resolution) error {
	return q.change(x, res, func(c *raftfsm.SetGPUQuarantine, reason string) {
		c.Quarantine = &quarantine.GPU{By: iam.PrincipalName(res.Principal.ARN), Reason: reason}
	})
}

func (q gpuQuarantine) release(x *httpx.Exchange, res leader.Resolution) error {
	return q.change(x, res, func(*raftfsm.SetGPUQuarantine, string) {})
}

// change proposes a command for the GPU that the request names.
func (q gpuQuarantine) change(x *httpx.Exchange, res leader.Resolution, complete func(c *raftfsm.SetGPUQuarantine, reason string)) error {
	var in gpuInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if len(in.Reason) > maxGPUReason {
		return wire.Errorf(wire.InvalidParameter, "reason must be at most %d characters long, not %d.", maxGPUReason, len(in.Reason))
	}
	host := hostOfGPU(res.View, in.GPU)
	if host == nil {
		return wire.Errorf(httpx.NotFound, "There is no GPU %q: GET /v1/gpus lists them.", in.GPU)
	}
	command := raftfsm.SetGPUQuarantine{HostID: host.ID, UUID: in.GPU, At: q.now()}
	complete(&command, in.Reason)
	if _, err := q.store.Propose(x.Context(), command); err != nil {
		return err
	}
	return ok(x)
}

// hostOfGPU is the host that has a GPU, or had it when that was put in quarantine; nil when there is none.
func hostOfGPU(view *raftfsm.View, uuid string) *spec.Host {
	for _, host := range view.Hosts("") {
		if _, has := host.GPUs.Device(uuid); has || host.Quarantine.Has(uuid) {
			return host
		}
	}
	return nil
}

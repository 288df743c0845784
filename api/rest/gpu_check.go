package rest

import (
	"errors"
	"net/http"
	"reflect"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm/accesskey"
)

// gpuCheck has hosts check and reset their GPUs.
type gpuCheck struct {
	peers *httpx.Peers
	gpus  GPUHost // of this host
}

func (g gpuCheck) routes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/v1/admin/gpus/{id}/check", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "has the host of a GPU check it once no task has it; until it has passed it gets no tasks",
			Out: reflect.TypeFor[struct{}](), Serve: onGPUHost(g.peers, g.check), Host: g.check},
		{Method: http.MethodPost, Path: "/v1/admin/gpus/{id}/reset", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "has the host of a GPU reset and check it once no task has it; until it has passed it gets no tasks",
			Out: reflect.TypeFor[struct{}](), Serve: onGPUHost(g.peers, g.reset), Host: g.reset},
		{Method: http.MethodPost, Path: "/v1/admin/gpus/{id}/forget", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "makes the host of a missing GPU forget it: it was taken out",
			Out: reflect.TypeFor[struct{}](), Serve: onGPUHost(g.peers, g.forget), Host: g.forget},
		{Method: http.MethodGet, Path: "/v1/admin/gpus/{id}/check", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "how far the check of a GPU is that was asked for last",
			Out: reflect.TypeFor[gpu.CheckOutcome](), Serve: onGPUHost(g.peers, g.show), Host: g.show},
	}
}

func (g gpuCheck) check(x *httpx.Exchange, uuid string) error { return g.request(x, uuid, false) }

func (g gpuCheck) reset(x *httpx.Exchange, uuid string) error { return g.request(x, uuid, true) }

func (g gpuCheck) request(x *httpx.Exchange, uuid string, reset bool) error {
	if err := g.gpus.Check(uuid, reset); err != nil {
		return err
	}
	return ok(x)
}

func (g gpuCheck) forget(x *httpx.Exchange, uuid string) error {
	err := g.gpus.Forget(uuid)
	if errors.Is(err, gpu.ErrPresent) {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	if err != nil {
		return err
	}
	return ok(x)
}

func (g gpuCheck) show(x *httpx.Exchange, uuid string) error {
	outcome, err := g.gpus.CheckOutcome(uuid)
	if err != nil {
		return err
	}
	return reply(x, outcome)
}

// onGPUHost makes a handler of what only the host of a GPU can do. The request is authorized where the state is, as with onTaskHost.
func onGPUHost(peers *httpx.Peers, answer HostHandler) Handler {
	return func(x *httpx.Exchange, res leader.Resolution) error {
		uuid := x.Request.PathValue("id")
		host := hostOfGPU(res.View, uuid)
		if host == nil {
			return wire.Errorf(httpx.NotFound, "There is no GPU %q: GET /v1/gpus lists them.", uuid)
		}
		if peers.Transport == nil || host.ID == peers.HostID {
			return answer(x, uuid)
		}
		return proxyToHost(peers, x, res, host, func(err error) error {
			return wire.Errorf(wire.Server, "Host %s of GPU %s cannot be reached at %s: %v. Try again when it is back.", host.Name, uuid, host.Address, err)
		})
	}
}

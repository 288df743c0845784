package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// gpuUsage tells how the GPUs of the pool are used. Their hosts know that; the state does not.
type gpuUsage struct {
	peers   *httpx.Peers
	gpus    GPUHost // of this host
	store   Store
	now     func() time.Time
	answers *httpx.HostAnswerCache[usageAnswer]
}

// maxUsageAsks bounds the hosts that one request asks at the same time.
const maxUsageAsks = 32

// gpuUsageView is how a GPU is used.
type gpuUsageView struct {
	Host   string    `json:"host"` // name
	HostID string    `json:"hostId"`
	Index  int       `json:"index"` // NVML enumeration order, from 0
	At     time.Time `json:"at"`    // when that was measured
	gpu.RecentUsage
}

// unknownUsage is a host that does not say how its GPUs are used.
type unknownUsage struct {
	Host    string `json:"host"` // name
	HostID  string `json:"hostId"`
	Problem string `json:"problem"` // for people
}

// poolUsage is how the GPUs of the pool are used.
type poolUsage struct {
	GPUs    []gpuUsageView `json:"gpus"`              // of which something is known
	Unknown []unknownUsage `json:"unknown,omitempty"` // hosts with GPUs of which nothing is known
}

func (g gpuUsage) routes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/v1/gpus/usage", Role: accesskey.RoleRead, Scope: inCluster, Summary: "how GPUs are used: utilization, memory, power, temperature, clock and traffic, measured every 5 s",
			Query: []Parameter{clusterParameter, staleParameter}, Out: reflect.TypeFor[poolUsage](), Mode: leader.StaleAllowed, Serve: g.list},
		{Method: http.MethodGet, Path: "/v1/hosts/{id}/gpus/usage", Role: accesskey.RoleRead, Scope: perResource, Summary: "how the GPUs of a host are used",
			Query: []Parameter{staleParameter}, Out: reflect.TypeFor[gpu.LatestUsage](), Mode: leader.StaleAllowed, Serve: g.ofHost, Host: g.serveLocal},
		{Method: http.MethodGet, Path: "/v1/gpus/{id}/usage", Role: accesskey.RoleRead, Scope: perResource, Summary: "how a GPU was used in the last hour, one sample every 5 s",
			Query: []Parameter{{"since", "a time, or an age such as 10m"}, staleParameter}, Out: reflect.TypeFor[[]gpu.UsageSample](), Mode: leader.StaleAllowed, Serve: g.samples, Host: g.samplesHere},
	}
}

// allHosts stands for the hosts of the pool together, among those that requests wait for.
const allHosts = ""

// list tells of all hosts of the caller's clusters that have GPUs. It is one of the long lists only when they have answered: some may be silent.
func (g gpuUsage) list(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	hosts := slices.DeleteFunc(slices.Clone(res.View.Hosts(cluster)), func(h *spec.Host) bool { return len(h.GPUs.Devices) == 0 })
	if err := g.peers.Await(x, res.Principal.SlotOwner(), allHosts); err != nil {
		return err
	}
	found := make([]usageAnswer, len(hosts))
	var asks errgroup.Group
	asks.SetLimit(maxUsageAsks)
	for i, host := range hosts {
		asks.Go(func() error {
			found[i] = g.of(x, host)
			return nil
		})
	}
	_ = asks.Wait()
	if err := g.peers.HoldList(x, res.Principal.SlotOwner()); err != nil {
		return err
	}
	answer := poolUsage{GPUs: []gpuUsageView{}}
	for i, host := range hosts {
		if found[i].problem != "" {
			answer.Unknown = append(answer.Unknown, unknownUsage{Host: host.Name, HostID: host.ID, Problem: found[i].problem})
		}
		for _, usage := range visibleUsage(res, host, found[i].usage) {
			device, _ := host.GPUs.Device(usage.UUID)
			answer.GPUs = append(answer.GPUs, gpuUsageView{Host: host.Name, HostID: host.ID, Index: device.Index, At: found[i].usage.At, RecentUsage: usage})
		}
	}
	return reply(x, answer)
}

// ofHost tells of one host.
func (g gpuUsage) ofHost(x *httpx.Exchange, res leader.Resolution) error {
	id := x.Request.PathValue("id")
	host := res.View.Host(id)
	if host == nil || !res.Principal.Clusters.Covers(host.Cluster) {
		return wire.Errorf(httpx.NotFound, "There is no host %q: GET /v1/hosts lists them.", id)
	}
	if host.ID != g.peers.HostID {
		if err := g.peers.Await(x, res.Principal.SlotOwner(), host.ID); err != nil {
			return err
		}
	}
	found := g.of(x, host)
	found.usage.GPUs = visibleUsage(res, host, found.usage)
	found.usage.Problem = found.problem
	return reply(x, found.usage)
}

// serveLocal is the answer of the host itself.
func (g gpuUsage) serveLocal(x *httpx.Exchange, id string) error {
	if id != g.peers.HostID {
		return wire.Errorf(httpx.NotFound, "This host is %s, not %s.", g.peers.HostID, id)
	}
	return reply(x, g.gpus.Usage())
}

// samples tells of one GPU. The hour may have been that of several teams, so it is for keys that see all of them.
func (g gpuUsage) samples(x *httpx.Exchange, res leader.Resolution) error {
	host := hostOfGPU(res.View, x.Request.PathValue("id"))
	if host != nil && len(res.Principal.Grant.Teams) > 0 {
		return wire.Errorf(wire.AccessDenied, "%s may not see the last hour of a GPU: its key is for the teams %s, and tasks of others may have used it. GET /v1/gpus/usage tells how it is used now.",
			res.Principal.ARN, strings.Join(res.Principal.Grant.Teams, ", "))
	}
	if host != nil && !res.Principal.Clusters.Covers(host.Cluster) {
		return wire.Errorf(httpx.NotFound, "There is no GPU %q: GET /v1/gpus lists them.", x.Request.PathValue("id"))
	}
	if _, err := g.after(x); err != nil {
		return err
	}
	return onGPUHost(g.peers, g.samplesHere)(x, res)
}

func (g gpuUsage) samplesHere(x *httpx.Exchange, uuid string) error {
	after, err := g.after(x)
	if err != nil {
		return err
	}
	return reply(x, g.gpus.Samples(uuid, after))
}

// after is the time of ?since=.
func (g gpuUsage) after(x *httpx.Exchange) (time.Time, error) {
	text := x.Request.URL.Query().Get("since")
	if text == "" {
		return time.Time{}, nil
	}
	return parseMoment("since", text, g.now())
}

// visibleUsage is what of the usage a key sees. To a key for teams it is that of GPUs which its tasks have, from when on they have them: what the GPU did
// before was of somebody else.
func visibleUsage(res leader.Resolution, host *spec.Host, said gpu.LatestUsage) []gpu.RecentUsage {
	grant := res.Principal.Grant
	if len(grant.Teams) == 0 {
		return said.GPUs
	}
	owners := gpuOwners(res.View, host.ID)
	visible := []gpu.RecentUsage{}
	for _, usage := range said.GPUs {
		since, sees := ownedSince(owners[usage.UUID], grant)
		had := said.At.Sub(since)
		if !sees || had < gpu.UsageInterval {
			continue
		}
		usage.Recent = usage.Recent[max(0, len(usage.Recent)-int(had/gpu.UsageInterval)):]
		visible = append(visible, usage)
	}
	return visible
}

// ownedSince is from when on all who have a GPU have it. A key that does not see one of them sees nothing of it, nor of one that nobody has.
func ownedSince(owners []gpuOwner, grant accesskey.Grant) (since time.Time, sees bool) {
	for _, o := range owners {
		started := o.task.Times.Started
		if !grant.SeesTeam(o.team) || started.IsZero() {
			return time.Time{}, false
		}
		if started.After(since) {
			since = started
		}
	}
	return since, len(owners) > 0
}

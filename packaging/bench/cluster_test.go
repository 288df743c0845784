package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api"
	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/gpu"
	"pinion/gpu/sim"
	"pinion/packaging/heap"
	"pinion/packaging/testbed"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// benchCluster is the cluster of the hosts that only the state knows.
const benchCluster = "bench"

// inprocCluster is the three servers of a pool in this process: each with its Raft log on the disk, its port with TLS and its
// API, as on hosts of their own, but without an agent. Only the state knows the other hosts of the pool; their heartbeats come
// from here.
type inprocCluster struct {
	*testing.B
	dir     string
	members []*server.Member
	first   credentials // of the first server, which leads while the machine lets it
	beating []string    // ids of hosts that live
	silent  atomic.Bool // these send no heartbeats meanwhile
	inprocOptions
	disks []testbed.Disk // of the servers, when each has its own
}

// inprocOptions are for pools whose servers have something of their own.
type inprocOptions struct {
	disk int64        // bytes of a disk for each server; 0: all share the disk of the temporary directory
	log  *slog.Logger // of all servers
}

// newInprocCluster makes a pool of three servers and so many other hosts of eight GPUs. The benchmark's end takes it away.
func newInprocCluster(b *testing.B, hosts int) *inprocCluster {
	b.Helper()
	return newInprocClusterWith(b, hosts, inprocOptions{log: slog.New(slog.DiscardHandler)})
}

func newInprocClusterWith(b *testing.B, hosts int, options inprocOptions) *inprocCluster {
	b.Helper()
	c := &inprocCluster{B: b, dir: b.TempDir(), inprocOptions: options}
	var join, token string
	for i := range servers {
		address, err := c.open(i, join, token)
		if err == nil && i == 0 {
			join = address
			token, err = c.leader().JoinTokens.CreateJoinToken(b.Context(), 0, 100, "", "")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(c.waitReady(), c.addHosts(hosts)); err != nil {
		b.Fatal(err)
	}
	return c
}

func (c *inprocCluster) leader() *server.Member { return c.members[0] }

// atEnd has an error of an end fail the benchmark.
func (c *inprocCluster) atEnd(end func() error) {
	c.Cleanup(func() {
		if err := end(); err != nil {
			c.Error(err)
		}
	})
}

// inBackground runs a loop until its context ends, which is before what was opened earlier is closed.
func (c *inprocCluster) inBackground(loop func(context.Context)) {
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	running.Go(func() { loop(ctx) })
	c.Cleanup(func() { cancel(); running.Wait() })
}

// open starts one server; the first one begins the pool.
func (c *inprocCluster) open(i int, join, token string) (address string, err error) {
	ctx, id := c.Context(), scatteredID(0, i)
	if err := c.addDisk(serverName(i)); err != nil {
		return "", err
	}
	member, port, identity, err := c.openMember(spec.Host{ID: id, Name: serverName(i), Cluster: spec.DefaultCluster}, join, token)
	if err != nil {
		return "", err
	}
	c.members = append(c.members, member)
	local := api.Config{Store: member, Log: c.log, Version: "bench", HostID: id, Leader: member.Leadership, Forward: member.Forwarder,
		Local: member, Admin: rest.Admin{Keys: member.Keys}}
	fromPeers := local
	fromPeers.FromPeer = func(r *http.Request) httpx.Peer {
		hostID, isServer := rpc.Caller(r.Context())
		return httpx.Peer{HostID: hostID, Server: isServer}
	}
	member.HandleAPI(api.NewHandler(fromPeers))
	address = port.Addr().String()
	if i > 0 {
		return address, nil
	}
	c.inBackground(heap.Adjust) // as each host does for its process
	key, err := member.Admission.HostKey(ctx)
	c.first = credentials{Endpoint: "https://" + address, KeyID: key.ID, Secret: key.Secret, CAFile: identity.CAFile()}
	c.inBackground(func(ctx context.Context) { _ = api.Serve(ctx, port.API(), local) })
	return address, err
}

func serverName(i int) string { return fmt.Sprint("server-", i) }

// openMember has a host of this process begin the pool, or join it: its agent's connection is up, and its heartbeats are sent until the end.
func (c *inprocCluster) openMember(host spec.Host, join, token string) (*server.Member, *peer.Port, *pki.Identity, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, nil, err
	}
	host.Address = listener.Addr().String()
	dir := filepath.Join(c.dir, host.Name)
	identity, err := pki.OpenWith(filepath.Join(dir, "pki"), host.ID, []string{"127.0.0.1"}, pki.Options{Joining: join != "", Log: c.log})
	if err != nil {
		return nil, nil, nil, errors.Join(err, listener.Close())
	}
	port := peer.Listen(listener, identity, c.log)
	c.atEnd(port.Close)
	member, err := server.OpenMember(c.Context(), server.MemberConfig{
		Dir: dir, HostID: host.ID, Address: host.Address, Name: host.Name, Version: "bench",
		Identity: identity, Port: port, Log: c.log, Join: join, JoinToken: token,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	c.atEnd(member.Close)
	if _, err := member.Agent().Join(c.Context(), host, nil); err != nil {
		return nil, nil, nil, err
	}
	c.inBackground(func(ctx context.Context) { c.beat(ctx, member, func() []string { return []string{host.ID} }) })
	return member, port, identity, nil
}

// addDisk makes the disk of a server where its directory will be, if it is to have its own.
func (c *inprocCluster) addDisk(name string) error {
	if c.disk == 0 {
		return nil
	}
	disk, err := testbed.NewDisk(filepath.Join(c.dir, name), c.disk)
	if err == nil {
		c.disks = append(c.disks, disk)
		c.atEnd(disk.Delete)
	}
	return err
}

// beat sends the heartbeats of hosts once a second.
func (c *inprocCluster) beat(ctx context.Context, through *server.Member, hosts func() []string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, id := range hosts() {
			_ = through.Agent().Heartbeat(ctx, id, nil) // what is not heard now is heard in a second
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// waitReady waits until all of them are servers.
func (c *inprocCluster) waitReady() error {
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); pause() {
		roles, err := c.leader().Hosts.Roles(c.Context())
		if err != nil {
			return err
		}
		voting := 0
		for _, role := range roles {
			if role == "leader" || role == "server" {
				voting++
			}
		}
		if voting == servers {
			return nil
		}
	}
	return errors.New("the three servers do not become a pool")
}

// addHosts records hosts of eight GPUs, and sends their heartbeats from then on.
func (c *inprocCluster) addHosts(hosts int) error {
	if _, err := c.leader().Propose(c.Context(), raftfsm.CreateCluster{Cluster: spec.Cluster{Name: benchCluster}}); err != nil {
		return err
	}
	model, err := c.model()
	if err != nil {
		return err
	}
	recording, ctx := errgroup.WithContext(c.Context())
	recording.SetLimit(64)
	for i := range hosts {
		id := scatteredID(1, i)
		c.beating = append(c.beating, id)
		recording.Go(func() error {
			host := spec.Host{ID: id, Name: id, Cluster: benchCluster, CPU: 128 << 10, MemoryMiB: 1 << 20, FeatureLevel: raftfsm.FeatureLevel}
			host.GPUs = renamed(model, id)
			_, err := c.leader().Propose(ctx, raftfsm.PutHost{Host: host})
			return err
		})
	}
	if err := recording.Wait(); err != nil {
		return err
	}
	c.inBackground(func(ctx context.Context) {
		c.beat(ctx, c.leader(), func() []string {
			if c.silent.Load() {
				return nil
			}
			return c.beating
		})
	})
	return nil
}

// define registers a family whose tasks have one GPU.
func (c *inprocCluster) define(family string) {
	c.Helper()
	definition := spec.TaskDefinition{Family: family, Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{
		Name: "main", Image: "pinion/self", CPU: 1024, Memory: 1024,
		ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}},
	}}}
	if _, err := c.leader().Propose(c.Context(), raftfsm.RegisterDefinition{Definition: definition}); err != nil {
		c.Fatal(err)
	}
}

// model is the GPUs of one simulated machine.
func (c *inprocCluster) model() (gpu.Inventory, error) {
	machine, err := sim.Open("8xh100", filepath.Join(c.dir, "sim"), "")
	if err != nil {
		return gpu.Inventory{}, err
	}
	defer machine.Close()
	return machine.Inventory(c.Context())
}

// renamed is the same GPUs, under names of their own.
func renamed(model gpu.Inventory, host string) gpu.Inventory {
	name := func(uuid string) string { return "GPU-" + host[24:] + uuid[12:] }
	model.Devices = slices.Clone(model.Devices)
	for i := range model.Devices {
		d := &model.Devices[i]
		var links gpu.Links
		for link := range d.Links.All() {
			link.Peer = name(link.Peer)
			links += gpu.PackLinks(link)
		}
		d.UUID, d.Links = name(d.UUID), links
	}
	return model
}

// scatteredID is the n-th id of a kind: 32 hex digits as if drawn by chance, the same in each run. It decides how the trees of
// the state are laid out.
func scatteredID(kind, n int) string {
	chance := rand.NewPCG(uint64(kind), uint64(n))
	return fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api"
	"pinion/api/rest"
	"pinion/gpu"
	"pinion/gpu/sim"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
)

// trio is the three servers of a pool in this process: each with its Raft log on the disk, its port with TLS and its
// doors, as on hosts of their own, but without an agent. The other hosts of the pool are known to the state only; the trio
// says that they live.
type trio struct {
	dir     string
	members []*server.Member
	first   credentials // of the first server, which leads while the machine lets it
	beating []string    // ids of hosts that live
	silent  atomic.Bool // these say nothing meanwhile
	closers []func() error
	cancel  context.CancelFunc
	loops   sync.WaitGroup
}

// startTrio makes a pool of three servers and so many other hosts of eight GPUs.
func startTrio(ctx context.Context, hosts int) (*trio, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-trio-")
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(ctx)
	t := &trio{dir: dir, cancel: cancel}
	if err = t.begin(life, hosts); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *trio) begin(ctx context.Context, hosts int) error {
	var join, token string
	for i := range servers {
		address, err := t.open(ctx, i, join, token)
		if err != nil {
			return err
		}
		if i == 0 {
			join = address
			if token, err = t.leader().CreateToken(ctx, 0, 0, ""); err != nil {
				return err
			}
		}
	}
	if err := t.settled(ctx); err != nil {
		return err
	}
	return t.addHosts(ctx, hosts)
}

func (t *trio) leader() *server.Member { return t.members[0] }

// open starts one server; the first one begins the pool.
func (t *trio) open(ctx context.Context, i int, join, token string) (address string, err error) {
	id, dir := drawn(0, i), filepath.Join(t.dir, fmt.Sprint("server-", i))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address, silent := listener.Addr().String(), slog.New(slog.DiscardHandler)
	identity, err := pki.OpenWith(filepath.Join(dir, "pki"), id, []string{"127.0.0.1"}, pki.Options{Joining: join != "", Log: silent})
	if err != nil {
		return "", errors.Join(err, listener.Close())
	}
	port := peer.Listen(listener, identity, silent)
	t.closers = append(t.closers, port.Close)
	member, err := server.OpenMember(ctx, server.MemberConfig{
		Dir: dir, HostID: id, Address: address, Name: fmt.Sprint("server-", i), Version: "bench",
		Identity: identity, Port: port, Log: silent, Join: join, Token: token,
	})
	if err != nil {
		return "", err
	}
	t.members, t.closers = append(t.members, member), append(t.closers, member.Close)
	if _, err := member.Join(ctx, spec.Host{ID: id, Name: fmt.Sprint("server-", i), Cluster: spec.DefaultCluster, Address: address}, nil); err != nil {
		return "", err
	}
	t.loops.Go(func() { t.beat(ctx, member, func() []string { return []string{id} }) })
	door := api.Config{Store: member, Log: silent, Version: "bench", HostID: id, Leader: member, Forward: member.Forwarder(),
		Local: member, Admin: rest.Admin{Keys: member}}
	among := door
	among.FromPeer = true
	member.HandleAPI(api.NewHandler(among))
	if i > 0 {
		return address, nil
	}
	key, _, err := member.BootstrapKey(ctx)
	t.first = credentials{Endpoint: "https://" + address, KeyID: key.ID, Secret: key.Secret, CAFile: identity.CAFile()}
	t.loops.Go(func() { _ = api.Serve(ctx, port.API(), door) })
	return address, err
}

// beat says once a second that the hosts live.
func (t *trio) beat(ctx context.Context, through *server.Member, hosts func() []string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, id := range hosts() {
			_ = through.Heartbeat(ctx, id) // what it cannot hear now it hears in a second
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// settled waits until all of them are servers.
func (t *trio) settled(ctx context.Context) error {
	for end := time.Now().Add(patience); time.Now().Before(end); pause() {
		roles, err := t.leader().Roles(ctx)
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

// trioCluster is the cluster of the hosts that are known to the state only.
const trioCluster = "bench"

// addHosts records hosts of eight GPUs, and says that they live from then on.
func (t *trio) addHosts(ctx context.Context, hosts int) error {
	if _, err := t.leader().Propose(ctx, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: trioCluster}}); err != nil {
		return err
	}
	model, err := t.model(ctx)
	if err != nil {
		return err
	}
	recording, recordingCtx := errgroup.WithContext(ctx)
	recording.SetLimit(64)
	for i := range hosts {
		id := hostID(i)
		t.beating = append(t.beating, id)
		recording.Go(func() error {
			host := spec.Host{ID: id, Name: id, Cluster: trioCluster, CPU: 128 << 10, MemoryMiB: 1 << 20, FeatureLevel: raftfsm.FeatureLevel}
			host.GPUs = renamed(model, id)
			_, err := t.leader().Propose(recordingCtx, raftfsm.PutHost{Host: host})
			return err
		})
	}
	if err := recording.Wait(); err != nil {
		return err
	}
	t.loops.Go(func() {
		t.beat(ctx, t.leader(), func() []string {
			if t.silent.Load() {
				return nil
			}
			return t.beating
		})
	})
	return nil
}

// model is the GPUs of one simulated machine.
func (t *trio) model(ctx context.Context) (gpu.Inventory, error) {
	machine, err := sim.Open("8xh100", filepath.Join(t.dir, "sim"), "")
	if err != nil {
		return gpu.Inventory{}, err
	}
	defer machine.Close()
	return machine.Inventory(ctx)
}

// renamed is the same GPUs, under names of their own.
func renamed(model gpu.Inventory, host string) gpu.Inventory {
	name := func(uuid string) string { return "GPU-" + host[24:] + uuid[12:] }
	model.Devices = slices.Clone(model.Devices)
	for i := range model.Devices {
		d := &model.Devices[i]
		d.UUID, d.Links = name(d.UUID), slices.Clone(d.Links)
		for l := range d.Links {
			d.Links[l].Peer = name(d.Links[l].Peer)
		}
	}
	return model
}

func (t *trio) close() error {
	t.cancel()
	t.loops.Wait()
	var err error
	for i := len(t.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, t.closers[i]())
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

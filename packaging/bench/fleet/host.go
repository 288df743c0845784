package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"

	"pinion/gpu"
	"pinion/gpu/sim"
	"pinion/node"
	"pinion/node/gpuhealth"
	"pinion/node/logs"
	"pinion/node/runtime/fake"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
)

// host is a host of the fleet: identity, port, sessions and agent are real; GPUs and containers are simulated. It has a data
// directory of its own.
type host struct {
	id      string
	log     *slog.Logger
	member  *server.Member
	closers []func() error // in the order of opening

	cancelAgent context.CancelFunc // ends the agent
	agent       sync.WaitGroup
}

// joinConfig describes how the hosts of a fleet join the pool.
type joinConfig struct {
	dir     string // the fleet's; each host has a directory in it
	ip      string // where the hosts listen, each on a port of its own
	join    string // address of a host of the pool
	token   string // what `pinion token` printed
	gpus    string // of each host, as the simulator has them: "8xh100"
	cluster string // the cluster that the hosts belong to
	log     *slog.Logger
}

// joinPool makes a new host and waits until it has joined.
func joinPool(ctx context.Context, in joinConfig, name string) (*host, error) {
	var random [16]byte
	rand.Read(random[:])
	h := &host{id: hex.EncodeToString(random[:]), log: in.log.With("host", name)}
	dir := filepath.Join(in.dir, name)
	address, err := h.open(ctx, in, dir, name)
	if err == nil {
		err = h.start(ctx, in, dir, spec.Host{
			ID: h.id, Name: name, Cluster: in.cluster, Address: address, Version: "fleet", FeatureLevel: raftfsm.FeatureLevel,
			Attributes: map[string]string{"fleet": name}, CPU: 64 << 10, MemoryMiB: 256 << 10, Ports: []int{22},
		})
	}
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, errors.Join(err, h.close()))
	}
	return h, nil
}

// open opens a port and joins the pool.
func (h *host) open(ctx context.Context, in joinConfig, dir, name string) (address string, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(in.ip, "0"))
	if err != nil {
		return "", err
	}
	identity, err := pki.OpenWith(filepath.Join(dir, "pki"), h.id, []string{in.ip}, pki.Options{Joining: true, Log: h.log})
	if err != nil {
		return "", errors.Join(err, listener.Close())
	}
	port := peer.Listen(listener, identity, h.log)
	h.closers = append(h.closers, port.Close)
	address = listener.Addr().String()
	h.member, err = server.OpenMember(ctx, server.MemberConfig{
		Dir: dir, HostID: h.id, Address: address, Name: name, Version: "fleet",
		Identity: identity, Port: port, Log: h.log, Join: in.join, Token: in.token,
	})
	if err == nil {
		h.closers = append(h.closers, h.member.Close)
	}
	return address, err
}

// start runs the agent and waits for its first report, which is empty.
func (h *host) start(ctx context.Context, in joinConfig, dir string, self spec.Host) error {
	gpus, err := inventory(ctx, in.gpus, dir)
	if err != nil {
		return err
	}
	health, err := gpuhealth.Open(filepath.Join(dir, "gpu-health.json"), "", h.log)
	if err != nil {
		return err
	}
	runtime := fake.New().Open()
	agent := node.New(node.Config{
		Host: self, Control: h.member.Agent(), Images: runtime, Containers: runtime, Execer: runtime, Network: fake.NewNetwork(),
		GPUs: gpus, GPUHealth: health, Logs: logs.NewStore(filepath.Join(dir, "logs")), Dir: dir, Log: h.log,
	})
	running, cancelAgent := context.WithCancel(context.Background())
	h.cancelAgent = cancelAgent
	ended := make(chan error, 1)
	h.agent.Go(func() { ended <- agent.Run(running) })
	select {
	case <-agent.Joined():
		return nil
	case err := <-ended:
		return fmt.Errorf("the agent ended: %w", err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stopAgent ends the agent and leaves its connections open, as a power cut does.
func (h *host) stopAgent() {
	h.cancelAgent()
	h.agent.Wait()
}

// close closes what was opened.
func (h *host) close() error {
	if h.cancelAgent != nil {
		h.stopAgent()
	}
	var err error
	for i := len(h.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, h.closers[i]())
	}
	h.closers = nil
	return err
}

// staticGPUs is an inventory that never changes, of GPUs without device nodes.
type staticGPUs struct {
	gpu.Source
	inventory gpu.Inventory
}

// Inventory returns the fixed inventory.
func (s staticGPUs) Inventory(context.Context) (gpu.Inventory, error) { return s.inventory, nil }

// Processes is empty: containers of the fleet have no processes.
func (s staticGPUs) Processes(context.Context, string) ([]int, error) { return nil, nil }

// inventory returns the GPUs of a new simulated machine, with UUIDs and links of their own.
func inventory(ctx context.Context, spec, dir string) (gpu.Source, error) {
	machine, err := sim.Open(spec, filepath.Join(dir, "sim"), "")
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	known, err := machine.Inventory(ctx)
	return staticGPUs{gpu.None(), known}, err
}

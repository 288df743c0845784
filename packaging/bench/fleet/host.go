package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"pinion/node"
	"pinion/node/gpuhealth"
	"pinion/node/gpuusage"
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
	port    *peer.Port
	member  *server.Member
	closers []func() error // in the order of opening

	cancelAgent context.CancelFunc // ends the agent
	agent       sync.WaitGroup
}

// joinConfig describes how the hosts of a fleet join the pool.
type joinConfig struct {
	dir       string // the fleet's; each host has a directory in it
	ip        string // where the hosts listen, each on a port of its own
	join      string // address of a host of the pool
	joinToken string // what `pinion token` printed
	gpus      string // of each host, as the simulator has them: "8xh100"
	cluster   string // the cluster that the hosts belong to
	log       *slog.Logger
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
	h.port = peer.Listen(listener, identity, h.log)
	h.closers = append(h.closers, h.port.Close)
	address = listener.Addr().String()
	h.member, err = server.OpenMember(ctx, server.MemberConfig{
		Dir: dir, HostID: h.id, Address: address, Name: name, Version: "fleet",
		Identity: identity, Port: h.port, Log: h.log, Join: in.join, JoinToken: in.joinToken,
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
	health, err := gpuhealth.Open(gpuhealth.Config{Dir: dir, Log: h.log})
	if err != nil {
		return err
	}
	runtime := fake.New().Open()
	agent := node.New(node.Config{
		Host: self, Control: h.member.Agent(), Images: runtime, Containers: runtime, Execer: runtime, Network: fake.NewNetwork(),
		GPUs: gpus, GPUHealth: health, GPUUsage: gpuusage.New(h.log), Logs: logs.NewStore(filepath.Join(dir, "logs")), Dir: dir, Log: h.log,
	})
	running, cancelAgent := context.WithCancel(context.Background())
	h.cancelAgent = cancelAgent
	h.serveUsage(agent)
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

// serveUsage answers the pool's servers, and whoever else asks, how the GPUs are used. That is all that the fleet's hosts have of the API.
func (h *host) serveUsage(agent *node.Node) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/hosts/{id}/gpus/usage", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(agent.GPUs.Usage())
	})
	server := &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	go server.Serve(h.port.API())
	h.closers = append(h.closers, server.Close)
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

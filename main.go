// Pinion runs GPU containers on your own machines the way Amazon ECS runs them on AWS: one binary on every host.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api"
	"pinion/api/cli"
	"pinion/gpu"
	"pinion/gpu/inside"
	"pinion/gpu/nvml"
	"pinion/gpu/sim"
	"pinion/node"
	"pinion/node/ctrd"
	"pinion/node/datadir"
	"pinion/node/logs"
	"pinion/node/machine"
	"pinion/node/network"
	"pinion/packaging/bundle"
	"pinion/raftfsm"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/schedule/replay"
)

// The rooms meet here and nowhere else.
var (
	_ api.Cluster        = (*server.Member)(nil)
	_ api.Leadership     = (*server.Member)(nil)
	_ api.StaleState     = (*server.Member)(nil)
	_ api.History        = (*server.Member)(nil)
	_ api.Queue          = (*server.Member)(nil)
	_ api.TokenKeeper    = (*server.Member)(nil)
	_ api.HostKeeper     = (*server.Member)(nil)
	_ api.SnapshotKeeper = (*server.Member)(nil)
	_ api.KeyKeeper      = (*server.Member)(nil)
	_ api.Host           = (*node.Node)(nil)
	_ node.Control       = (*server.Member)(nil)
)

// version is set by the linker.
var version = "dev"

func main() {
	// The simulator mounts this binary into containers as nvidia-smi.
	if filepath.Base(os.Args[0]) == "nvidia-smi" {
		os.Exit(sim.SMI(os.Args[1:], os.Stdout))
	}
	os.Exit(cli.Main(context.Background(), cli.Program{
		Version: version, Up: up, Down: down, Inside: lookInside,
		Recover: recoverPool, Restore: restorePool, InspectSnapshot: inspectSnapshot, Simulate: simulate,
	}, os.Args))
}

// lookInside prints what the container that it runs in sees of GPUs.
func lookInside(out io.Writer, asJSON bool) error {
	sight, err := inside.Look()
	if err != nil {
		return fmt.Errorf("looking for GPUs in this container: %w", err)
	}
	if asJSON {
		return sight.PrintJSON(out)
	}
	return sight.Print(out)
}

// simulate replays a trace through the policies.
func simulate(ctx context.Context, c cli.SimConfig, told func(done, total int)) ([]cli.SimRun, error) {
	study, err := replay.Open(c.Hosts, c.Tasks)
	if err != nil {
		return nil, err
	}
	study.Policies, study.From, study.To, study.Inflate = c.Policies, c.From, c.To, c.Inflate
	runs, err := study.Run(ctx, told)
	if err != nil {
		return nil, err
	}
	shown := make([]cli.SimRun, 0, len(runs))
	for _, run := range runs {
		shown = append(shown, cli.SimRun(run))
	}
	return shown, nil
}

// host is one Pinion host: every room, wired together. A process can run several, each in a data directory of its own.
type host struct {
	config   cli.UpConfig
	log      *slog.Logger
	dir      *datadir.Dir
	listener net.Listener
	address  machine.Addresses
	self     string // path of this binary: the built-in image and the simulated nvidia-smi are made of it
	tools    bundle.Tools
	runtime  *ctrd.Runtime
	logs     *logs.Store
	network  *network.Bridge
	gpus     gpu.Source
	identity *pki.Identity
	port     *peer.Port
	member   *server.Member
	agent    *node.Node
	closers  []func() error // in the order of opening
	fatal    chan error     // gets one error when this host cannot go on
}

// up runs a host until ctx is cancelled. Tasks and the container runtime go on when it returns; down ends them. When it
// returns an error the process has to end: something that hangs may be left behind.
func up(ctx context.Context, config cli.UpConfig) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	h := &host{config: config, log: log, fatal: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case err := <-h.fatal:
		select {
		case <-ended:
		case <-time.After(fatalGrace):
		}
		return err
	}
}

// fatalGrace is what a host that cannot go on is given to end in order. One whose disk hangs would never end, and while
// it lives it keeps the others from going on without it.
const fatalGrace = 500 * time.Millisecond

// run opens the rooms one after the other, serves, and closes them.
func (h *host) run(ctx context.Context) error {
	defer h.close()
	for _, open := range []func(context.Context) error{h.openDirectory, h.listen, h.openGPUs, h.openRuntime, h.openMember, h.openAgent} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	return h.serve(ctx)
}

func (h *host) closing(f func() error) { h.closers = append(h.closers, f) }

func (h *host) close() {
	for _, f := range slices.Backward(h.closers) {
		if err := f(); err != nil {
			h.log.Warn("closing", "error", err)
		}
	}
}

func (h *host) openDirectory(context.Context) (err error) {
	if h.dir, err = datadir.Open(h.config.DataDir); err != nil {
		return err
	}
	h.closing(h.dir.Close)
	if h.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this binary, which the image pinion/self is made of: %w", err)
	}
	h.tools, err = bundle.Unpack(h.dir.Join("bundle"))
	return err
}

// listen takes the port before anything is started, so that a port in use stops nothing half-way.
func (h *host) listen(context.Context) (err error) {
	if h.listener, err = net.Listen("tcp", h.config.Listen); err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	h.closing(func() error { h.listener.Close(); return nil })
	h.address = machine.AddressesOf(h.listener.Addr().(*net.TCPAddr), h.config.Advertise)
	return datadir.WriteFile(h.dir.Join(addressFile), []byte(h.address.Advertised), 0o600)
}

func (h *host) openRuntime(ctx context.Context) (err error) {
	address := h.config.Containerd
	if err := h.dir.UseDaemon(address); err != nil {
		return err
	}
	if address == "" {
		daemon, err := ctrd.StartDaemon(ctx, h.daemonConfig())
		if err != nil {
			return err
		}
		h.closing(daemon.Close)
		address = daemon.Address()
	}
	h.logs = logs.NewStore(h.dir.Join("logs"))
	if h.runtime, err = ctrd.Open(ctx, h.runtimeConfig(address)); err != nil {
		return err
	}
	h.closing(h.runtime.Close)
	if h.network, err = network.Open(h.tools.CNI, h.dir.Join("network")); err != nil {
		return err
	}
	h.closing(h.network.Close)
	if problem := h.network.Problem(); problem != "" {
		h.log.Warn("network", "problem", problem)
	}
	return nil
}

func (h *host) daemonConfig() ctrd.DaemonConfig {
	return ctrd.DaemonConfig{Containerd: h.tools.Containerd, Shim: h.tools.Shim, Runc: h.tools.Runc, Dir: h.dir.Join("containerd"), Log: h.log}
}

func (h *host) runtimeConfig(address string) ctrd.Config {
	c := ctrd.Config{
		Address: address, Logger: h.tools.Logger, Logs: h.logs.Path, Dir: h.dir.Join("runtime"),
		RegistryConfig: h.config.RegistryConfig, Self: h.self, Log: h.log,
	}
	if h.config.Containerd == "" {
		c.Shim, c.Runc = h.tools.Shim, h.tools.Runc
	} else {
		// The agent ends what it finds and does not know: two hosts on one daemon must not find each other's containers.
		c.Namespace = "pinion-" + h.dir.HostID
	}
	if h.gpus != nil {
		c.CDI = h.gpus.CDI
	}
	return c
}

// hostname is the machine's name for people; a machine without one goes by its id alone.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return name
}

// openGPUs never chooses the simulator by itself, and says aloud when it was chosen.
func (h *host) openGPUs(context.Context) (err error) {
	switch source, spec, _ := strings.Cut(h.config.GPUs, ":"); source {
	case "sim":
		h.gpus, err = sim.Open(spec, h.dir.Join("sim"), h.self)
	case "none":
		h.gpus = gpu.None()
	default:
		h.gpus = nvml.Open(h.tools.NVML, h.log)
	}
	if err != nil {
		return err
	}
	h.closing(h.gpus.Close)
	return nil
}

// openMember gives the host its place in a pool of hosts: its own, the one it joins, or the one it is in already.
func (h *host) openMember(ctx context.Context) (err error) {
	open := pki.Open
	if h.config.Join != "" {
		open = pki.OpenJoining
	}
	if h.identity, err = open(h.dir.Join("pki"), h.dir.HostID, h.address.Names); err != nil {
		return err
	}
	h.port = peer.Listen(h.listener, h.identity, h.log)
	h.closing(h.port.Close)
	h.member, err = server.OpenMember(ctx, server.MemberConfig{
		Dir: h.dir.Path, HostID: h.dir.HostID, PoolID: h.dir.PoolID, Address: h.address.Advertised, Name: hostname(), Version: version,
		Identity: h.identity, Port: h.port, Log: h.log, Join: h.config.Join, Token: h.config.Token,
		Servers: h.config.Servers, ReplaceAfter: h.config.ReplaceAfter, TaskLostAfter: h.config.LostAfter,
	})
	if err != nil {
		return err
	}
	h.closing(h.member.Close)
	return nil
}

// keepClient writes what `pinion env` prints as soon as the pool can say it. A host that restarts while its pool cannot
// be reached keeps the file that it has.
func (h *host) keepClient(ctx context.Context) error {
	for {
		key, _, err := h.member.FirstKey(ctx)
		if err == nil {
			return h.writeClient(key)
		}
		if !errors.Is(err, raftfsm.ErrUnavailable) {
			return fmt.Errorf("asking for the first access key: %w", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// writeClient leaves what `pinion env` prints: how a client on this machine reaches the host, and with which key.
func (h *host) writeClient(key raftfsm.AccessKey) error {
	content, err := json.MarshalIndent(cli.Access{
		Endpoint: "https://" + h.address.Local, KeyID: key.ID, Secret: key.Secret,
		Region: api.DefaultRegion, CAFile: h.identity.CAFile(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return datadir.WriteFile(h.dir.Join("client.json"), append(content, '\n'), 0o600)
}

func (h *host) openAgent(context.Context) error {
	size, err := machine.Measure()
	if err != nil {
		return fmt.Errorf("measuring the machine: %w", err)
	}
	attributes := machine.Attributes()
	maps.Copy(attributes, h.config.Attributes)
	h.agent = node.New(node.Config{
		Host: raftfsm.Host{
			ID: h.dir.HostID, Name: hostname(), Cluster: h.config.Cluster, Address: h.address.Advertised, Version: version, FeatureLevel: raftfsm.FeatureLevel,
			Attributes: attributes, CPU: size.CPU, MemoryMiB: size.MemoryMiB, Ports: []int{22, h.address.Port},
		},
		Control: h.member, Images: h.runtime, Containers: h.runtime, Checks: h.runtime, Network: h.network, GPUs: h.gpus, Logs: h.logs,
		Dir: h.dir.Path, Log: h.log,
	})
	return nil
}

// serve answers requests until ctx is cancelled or the host cannot go on.
func (h *host) serve(ctx context.Context) error {
	socket, err := api.ListenLocal(h.dir.Join("pinion.sock"))
	if err != nil {
		return err
	}
	door := api.Config{
		Cluster: h.member, Host: h.agent, HostID: h.dir.HostID, Log: h.log, Version: version, Now: time.Now,
		Leader: h.member, Forward: h.member.Forwarder(), Stale: h.member, History: h.member, Queue: h.member,
		Admin: api.Admin{Tokens: h.member, Keys: h.member, Hosts: h.member, Snapshots: h.member},
		Guard: api.NewGuard(),
	}
	local, among := door, door
	local.Trusted = true  // who can reach the socket is root
	among.FromPeer = true // who can reach this one is a host of the pool
	h.member.HandleAPI(api.NewHandler(among))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.agent.Run(ctx) })
	group.Go(func() error { h.logs.KeepPruned(ctx, h.log); return nil })
	group.Go(func() error { return api.Serve(ctx, h.port.API(), door) })
	group.Go(func() error { return api.Serve(ctx, socket, local) })
	group.Go(func() error {
		select {
		case err := <-h.member.Fatal():
			h.fatal <- err
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error {
		if err := h.keepClient(ctx); err != nil {
			return err
		}
		return h.announce(ctx, os.Stdout)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// announce says on standard output that the host takes tasks, with what, and how to go on.
func (h *host) announce(ctx context.Context, out io.Writer) error {
	select {
	case <-h.agent.Joined():
	case <-ctx.Done():
		return nil
	}
	inventory, err := h.gpus.Inventory(ctx)
	if err != nil {
		inventory.Problem = err.Error()
	}
	fmt.Fprintf(out, "Pinion is ready at https://%s\n  GPUs: %s\n  next: eval \"$(pinion%s env)\"; aws ecs list-container-instances\n", h.address.Local, inventory, h.dataDirFlag())
	return nil
}

func (h *host) dataDirFlag() string {
	if h.dir.Path == cli.DefaultDataDir {
		return ""
	}
	return fmt.Sprintf(" --data-dir '%s'", h.dir.Path)
}

// addressFile holds the address that the host was last reached by, for when it is worked on while it does not run.
const addressFile = "address"

// offline is the place in its pool of a host that does not run. One that never ran is given the address it would have.
func (h *host) offline(ctx context.Context, dataDir string) (server.MemberConfig, error) {
	h.config.DataDir = dataDir
	if err := h.openDirectory(ctx); err != nil {
		return server.MemberConfig{}, err
	}
	address, err := os.ReadFile(h.dir.Join(addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		address, err = []byte(machine.AddressesOf(&net.TCPAddr{IP: net.IPv4zero, Port: cli.DefaultPort}, "").Advertised), nil
	}
	return server.MemberConfig{Dir: h.dir.Path, HostID: h.dir.HostID, Address: string(address), Name: hostname(), Version: version, Log: h.log}, err
}

func recoverPool(ctx context.Context, dataDir string) error {
	h := &host{log: slog.New(slog.DiscardHandler)}
	defer h.close()
	place, err := h.offline(ctx, dataDir)
	if err != nil {
		return err
	}
	_, err = server.Recover(ctx, place)
	return err
}

func restorePool(ctx context.Context, dataDir, file string) error {
	h := &host{log: slog.New(slog.DiscardHandler)}
	defer h.close()
	place, err := h.offline(ctx, dataDir)
	if err != nil {
		return err
	}
	if place.Identity, err = pki.OpenJoining(h.dir.Join("pki"), h.dir.HostID, nil); err != nil {
		return err
	}
	snapshot, err := os.Open(file)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	_, err = server.Restore(ctx, place, snapshot)
	return err
}

// inspectSnapshot checks a snapshot file and prints what is in it.
func inspectSnapshot(out io.Writer, file string, asJSON bool) error {
	snapshot, err := os.Open(file)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	info, err := server.InspectSnapshot(snapshot)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(info)
	}
	_, err = fmt.Fprintf(out, "pool %s of %s, incarnation %d, change %d: %d hosts, %d clusters, %d task definitions, %d tasks, %d keys; whole\n",
		info.Pool, info.CreatedAt.Format(time.DateTime), info.Incarnation, info.Index, info.Hosts, info.Clusters, info.Definitions, info.Tasks, info.Keys)
	return err
}

// down ends everything that lives from a data directory: the pinion that runs there, its tasks, its containerd and
// its networks; with Purge the directory itself goes too.
func down(ctx context.Context, config cli.DownConfig) error {
	h := &host{config: cli.UpConfig{DataDir: config.DataDir}, log: slog.New(slog.DiscardHandler)}
	defer h.close()
	if err := datadir.End(ctx, config.DataDir); err != nil {
		return err
	}
	if err := h.openDirectory(ctx); err != nil {
		return err
	}
	if err := h.endContainers(ctx); err != nil {
		return fmt.Errorf("ending the tasks of %s: %w", config.DataDir, err)
	}
	if config.Purge {
		return h.dir.Purge()
	}
	return nil
}

// endContainers stops and removes every container of the directory, then its containerd and its networks.
func (h *host) endContainers(ctx context.Context) error {
	address, err := h.dir.Daemon()
	if err != nil {
		return err
	}
	h.config.Containerd = address
	var daemon *ctrd.Daemon
	if address == "" {
		if daemon, err = ctrd.StartDaemon(ctx, h.daemonConfig()); err != nil {
			return err
		}
		address = daemon.Address()
	}
	h.logs = logs.NewStore(h.dir.Join("logs"))
	runtime, err := ctrd.Open(ctx, h.runtimeConfig(address))
	if err != nil {
		return err
	}
	found, err := runtime.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := runtime.Remove(ctx, c.ID); err != nil {
			return err
		}
	}
	if err := network.Destroy(ctx, h.tools.CNI, h.dir.Join("network")); err != nil {
		return err
	}
	if daemon == nil {
		return runtime.Close()
	}
	return errors.Join(runtime.Close(), daemon.Stop(ctx))
}

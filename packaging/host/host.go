// Package host is the composition root: it wires api, server, node and gpu together to one Pinion host, and works on the
// data directory of a host that is not running. A process can run several hosts, each in a data directory of its own.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"pinion/api/audit"
	"pinion/api/cli"
	"pinion/node/containerd"
	"pinion/node/datadir"
	"pinion/node/filesystem"
	"pinion/node/logs"
	"pinion/node/machine"
	"pinion/node/metadata"
	"pinion/node/network"
	"pinion/node/volume"
	"pinion/packaging/atomicfile"
	"pinion/packaging/bundle"
	"pinion/packaging/heap"
	"pinion/packaging/sdnotify"
	"pinion/packaging/signature"
	"pinion/packaging/upgrade"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
)

// Build describes the binary of a host.
type Build struct {
	Version     string // "0.1.0": the version that the host reports to clients and to its pool
	ReleaseKeys string // minisign public keys with blanks between: signatures of these count on every host that runs the binary

	sockets *upgrade.Sockets // of the listeners of load balancers and services; nil: they are this run's own
}

// host is one Pinion host with all its parts.
type host struct {
	Build
	config   cli.UpConfig
	log      *slog.Logger
	dir      directory
	listener net.Listener
	address  machine.Addresses
	self     string // path of this binary: the built-in image and the simulated nvidia-smi are made of it
	tools    bundle.Tools
	runtime  *containerd.Runtime
	logs     *logs.Store
	network  *network.Host
	gpus     *devices
	port     *peer.Port
	audit    *audit.Log
	member   *server.Member
	agent    *agent
	metadata *metadata.Service
	storage
	opened
	fatal chan error // receives one error when this host cannot continue
}

// storage is the volumes and file systems that tasks may mount.
type storage struct {
	volumes     *volume.Roots
	fileSystems *filesystem.Mounts
}

// opened lists the parts that have to be closed or taken back.
type opened struct {
	closers []func() error // in the order of opening
	failed  bool           // a part could not be opened: what was begun is taken back
}

// shutdownGrace bounds an orderly shutdown after a fatal error. A host with a hung disk would never exit, and while it
// lives it prevents the other servers from electing another leader.
const shutdownGrace = 500 * time.Millisecond

// Up runs a host until ctx is cancelled. Tasks and the container runtime run on when it returns; Down stops them. After an
// error the process must exit: hung calls may be left behind.
func (b Build) Up(ctx context.Context, config cli.UpConfig) error {
	built, err := signature.ParseKeys(strings.Fields(b.ReleaseKeys))
	if err != nil {
		return fmt.Errorf("this binary was built with a wrong release key: %w", err)
	}
	config.ReleaseKeys = append(built, config.ReleaseKeys...)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	h := &host{Build: b, config: config, log: log, fatal: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case err := <-h.fatal:
		select {
		case <-ended:
		case <-time.After(shutdownGrace):
		}
		return err
	}
}

// run opens the parts of the host one after the other, serves, and closes them in reverse order.
func (h *host) run(ctx context.Context) error {
	service := sdnotify.Starting(ctx, h.log)
	defer h.close()
	defer tellEnd(ctx, service)
	unlock := func(context.Context) error { return h.dir.unlock(h.config.Unlock) }
	for _, open := range []func(context.Context) error{h.openDirectory, unlock, h.prepareDirectory, h.openVolumes, h.listen, h.openGPUs, h.openRuntime, h.openAudit, h.openMember, h.openAgent} {
		if err := open(ctx); err != nil {
			h.failed = true
			if errors.Is(err, spec.ErrRemoved) {
				err = errors.Join(err, endTasks(h))
			}
			return err
		}
	}
	go heap.Adjust(ctx)
	return h.serve(ctx, service)
}

func (h *host) onClose(f func() error) { h.closers = append(h.closers, f) }

func (h *host) close() {
	for _, f := range slices.Backward(h.closers) {
		if err := f(); err != nil {
			h.log.Warn("closing", "error", err)
		}
	}
}

// addressFile holds the last advertised address of the host, for work on a host that is not running.
const addressFile = "address"

func (h *host) openDirectory(context.Context) (err error) {
	if h.dir.Dir, err = datadir.Open(h.config.DataDir); err != nil {
		return err
	}
	h.onClose(h.dir.Close)
	if had := h.dir.Listed; had != 0 {
		h.log.Warn("the data directory was readable by other users: its mode was restricted", "directory", h.dir.Path, "previousMode", fmt.Sprintf("%04o", had))
	}
	return nil
}

// prepareDirectory makes the directory that of this process, and unpacks the helper programs. A host that comes to nothing leaves none
// that were not there before.
func (h *host) prepareDirectory(context.Context) (err error) {
	if err = h.dir.Claim(); err != nil {
		return err
	}
	if h.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this binary, which the image pinion/self is made of: %w", err)
	}
	dir := h.dir.Join("bundle")
	_, missing := os.Stat(dir)
	h.onClose(func() error {
		if h.failed && missing != nil {
			return os.RemoveAll(dir)
		}
		return nil
	})
	h.tools, err = bundle.Unpack(dir)
	return err
}

// listen opens the port before anything else is started, so a port in use leaves nothing half started.
func (h *host) listen(context.Context) (err error) {
	if h.listener, err = net.Listen("tcp", h.config.Listen); err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	h.onClose(func() error { h.listener.Close(); return nil })
	h.address = machine.NewAddresses(h.listener.Addr().(*net.TCPAddr), h.config.Advertise)
	return atomicfile.Write(h.dir.Join(addressFile), []byte(h.address.Advertised), 0o600)
}

package containerd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	introspection "github.com/containerd/containerd/api/services/introspection/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/log"

	"pinion/node/containerd/cgroup"
	"pinion/node/containerd/daemon"
	"pinion/node/containerd/images"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

var (
	_ runtime.Images     = (*Runtime)(nil)
	_ runtime.Containers = (*Runtime)(nil)
)

// Runtime runs Pinion's containers on one containerd. It survives restarts of the daemon.
type Runtime struct {
	config  Config
	client  *containerd.Client
	cgroups cgroup.Manager
	gpus    *deviceInjector
	images  *images.Store
	shims   shimPins
	started startedFiles
	starts  *startRegistry
	profile securityProfile
}

// Open reaches the daemon at c.Address and makes ready to run containers there. It works with containerd 1.6 and later.
func Open(ctx context.Context, c Config) (*Runtime, error) {
	c = c.withDefaults()
	log.SetLevel("error") // of containerd's client library: what matters comes back as errors
	started := startedFiles{dir: filepath.Join(c.Dir, "started")}
	if err := os.MkdirAll(started.dir, 0o700); err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	groups, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	client, err := containerd.New(c.Address, containerd.WithDefaultNamespace(c.Namespace), daemon.DialOptions())
	if err != nil {
		return nil, fmt.Errorf("containerd at %s: %w", c.Address, err)
	}
	r := &Runtime{
		config: c, client: client, cgroups: groups,
		gpus:    &deviceInjector{source: c.CDI, dir: filepath.Join(c.Dir, "cdi")},
		shims:   shimPins{client: client},
		started: started,
		starts:  newStartRegistry(),
		profile: detectSecurityProfile(c.Log),
	}
	if err := r.waitDaemon(ctx); err != nil {
		client.Close()
		return nil, err
	}
	r.images = images.New(images.Config{
		Client: client, Snapshotter: r.config.Snapshotter, RegistryConfig: c.RegistryConfig, BuiltinBinary: c.BuiltinBinary,
		ConnectTimeout: c.ConnectTimeout, StallTimeout: c.StallTimeout, Log: c.Log,
	})
	if err := r.sweepOrphans(r.inNamespace(ctx)); err != nil {
		client.Close()
		return nil, fmt.Errorf("containerd at %s: clear up after a crash: %w", c.Address, err)
	}
	return r, nil
}

// Pull implements runtime.Images.
func (r *Runtime) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (runtime.Image, error) {
	return r.images.Pull(r.inNamespace(ctx), ref, progress)
}

// Close lets go of the daemon; containers run on.
func (r *Runtime) Close() error { return r.client.Close() }

// waitDaemon waits for the daemon and chooses the snapshotter.
func (r *Runtime) waitDaemon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(r.inNamespace(ctx), 10*time.Second)
	defer cancel()
	if _, err := r.client.Version(ctx); err != nil {
		return fmt.Errorf("containerd does not answer at %s: %w; is it running, and is this its socket?", r.config.Address, err)
	}
	return r.chooseSnapshotter(ctx)
}

// chooseSnapshotter chooses for a daemon of the host's own; Pinion's own daemon has chosen already.
func (r *Runtime) chooseSnapshotter(ctx context.Context) error {
	if r.config.Snapshotter != "" {
		return nil
	}
	plugins, err := r.client.IntrospectionService().Plugins(ctx, "type==io.containerd.snapshotter.v1")
	if err != nil {
		return fmt.Errorf("containerd at %s: list snapshotters: %w", r.config.Address, err)
	}
	for _, wanted := range []string{"overlayfs", "native"} {
		if pluginWorks(plugins.Plugins, wanted) {
			r.config.Snapshotter = wanted
			return nil
		}
	}
	return fmt.Errorf("containerd at %s has neither the overlayfs nor the native snapshotter; enable one of them in its configuration", r.config.Address)
}

func pluginWorks(plugins []*introspection.Plugin, id string) bool {
	for _, p := range plugins {
		if p.ID == id {
			return p.InitErr == nil
		}
	}
	return false
}

func (r *Runtime) inNamespace(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, r.config.Namespace)
}

func (r *Runtime) snapshots() snapshots.Snapshotter {
	return r.client.SnapshotService(r.config.Snapshotter)
}

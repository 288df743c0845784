package containerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/log"

	"pinion/node/containerd/cgroup"
	"pinion/node/containerd/daemon"
	"pinion/node/containerd/images"
	"pinion/node/distribution"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

var (
	_ runtime.Images     = (*Runtime)(nil)
	_ runtime.Containers = (*Runtime)(nil)
)

// Runtime runs Pinion's containers on one containerd. It survives restarts of the daemon.
type Runtime struct {
	config   Config
	client   *containerd.Client
	cgroups  cgroup.Manager
	gpus     *deviceInjector
	images   *images.Store
	shims    shimPins
	started  startedFiles
	starts   *startRegistry
	profile  securityProfile
	volumes  volumeStaging
	secrets  *secretFiles
	pauses   *pauseContainers
	noUserns error  // why containers cannot have user namespaces here; nil: they can
	imageDir string // the snapshotter's directory
	version  string // of the daemon when it was opened
}

// Open connects to the daemon at c.Address and prepares it for containers. It works with containerd 1.6 and later.
func Open(ctx context.Context, c Config) (*Runtime, error) {
	c = c.withDefaults()
	log.SetLevel("error") // of containerd's client library, which returns its failures as errors too
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
		volumes: volumeStaging{dir: filepath.Join(c.Dir, "volumes"), daemon: c.Address},
		secrets: &secretFiles{dir: filepath.Join(c.Dir, "secrets")},
	}
	r.pauses = newPauseContainers(r)
	if err := r.volumes.sweep(); err != nil {
		client.Close()
		return nil, fmt.Errorf("containerd: clear up after a crash: %w", err)
	}
	warnOfRlimits(c.Log)
	if err := r.waitDaemon(ctx); err != nil {
		client.Close()
		return nil, err
	}
	r.noUserns = tryUserNamespaces(r.volumes, r.config.Snapshotter, r.imageDir)
	r.images, err = images.Open(images.Config{
		Client: client, Snapshotter: r.config.Snapshotter, RegistryConfig: c.RegistryConfig, BuiltinBinary: c.BuiltinBinary,
		ConnectTimeout: c.ConnectTimeout, StallTimeout: c.StallTimeout, Log: c.Log,
		DiskUsed: r.diskUsed, DiskFree: r.diskFree, Limits: c.Images, InUse: r.imagesInUse,
		Dir: filepath.Join(c.Dir, "blobs"), Namespace: r.inNamespace,
	})
	if err != nil {
		client.Close()
		return nil, err
	}
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

// Prune implements runtime.Images.
func (r *Runtime) Prune(ctx context.Context, keep []string) error {
	return r.images.Prune(r.inNamespace(ctx), keep)
}

// diskUsed returns the share of the images' disk that is in use.
func (r *Runtime) diskUsed() (float64, error) {
	if r.config.DiskUsed != nil {
		return r.config.DiskUsed()
	}
	return images.DiskUsed(r.imageDir)
}

// diskFree returns the free bytes of the images' disk.
func (r *Runtime) diskFree() (int64, error) {
	if r.config.DiskFree != nil {
		return r.config.DiskFree()
	}
	return images.DiskFree(r.imageDir)
}

// imagesInUse lists the digests of the containers' images.
func (r *Runtime) imagesInUse(ctx context.Context) (map[string]bool, error) {
	records, err := r.client.ContainerService().List(ctx, "labels."+quoted(labelTask))
	inUse := map[string]bool{}
	for _, record := range records {
		inUse[record.Labels[labelDigest]] = true
	}
	return inUse, err
}

// Features are the capabilities of a host's runtime, as the host reports them.
type Features struct {
	Version          string // with its name
	AppArmor         bool   // profiles confine its containers
	CountsSwap       bool   // the kernel limits the swap of containers
	NoUserNamespaces error  // why containers cannot have user namespaces; nil: they can
}

// Features are the capabilities of this host's runtime.
func (r *Runtime) Features() Features {
	return Features{"containerd " + r.version, r.profile.apparmor, r.cgroups.CanLimitSwap(), r.noUserns}
}

// Close closes the connection to the daemon; containers run on.
func (r *Runtime) Close() error { return errors.Join(r.images.Close(), r.client.Close()) }

// UsePeers has a runtime exchange the blobs of images with other hosts, and returns what answers those: see
// distribution.Exchange.Serve.
func UsePeers(r *Runtime, peers distribution.Peers) (serve func(w http.ResponseWriter, request *http.Request, host string)) {
	return r.images.UsePeers(peers)
}

// Prefetch has a runtime pull images before a task needs them: see images.Prefetch.
func Prefetch(r *Runtime, refs []string) { images.Prefetch(r.images, refs) }

// waitDaemon waits for the daemon and finds the snapshotter.
func (r *Runtime) waitDaemon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(r.inNamespace(ctx), 10*time.Second)
	defer cancel()
	version, err := r.client.Version(ctx)
	if err != nil {
		return fmt.Errorf("containerd does not answer at %s: %w; is it running, and is this its socket?", r.config.Address, err)
	}
	r.version = strings.TrimPrefix(version.Version, "v")
	return r.findSnapshotter(ctx)
}

// findSnapshotter finds the snapshotter's directory. For a host's daemon it also chooses the snapshotter; Pinion's own
// daemon has one in its configuration.
func (r *Runtime) findSnapshotter(ctx context.Context) error {
	answer, err := r.client.IntrospectionService().Plugins(ctx, "type==io.containerd.snapshotter.v1")
	if err != nil {
		return fmt.Errorf("containerd at %s: list snapshotters: %w", r.config.Address, err)
	}
	choice := []string{"overlayfs", "native"}
	if r.config.Snapshotter != "" {
		choice = []string{r.config.Snapshotter}
	}
	for _, wanted := range choice {
		for _, plugin := range answer.Plugins {
			if plugin.ID == wanted && plugin.InitErr == nil {
				r.config.Snapshotter = wanted
				r.imageDir = plugin.Exports["root"]
				return nil
			}
		}
	}
	return fmt.Errorf("containerd at %s has none of the snapshotters %v; enable one of them in its configuration", r.config.Address, choice)
}

func (r *Runtime) inNamespace(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, r.config.Namespace)
}

func (r *Runtime) snapshots() snapshots.Snapshotter {
	return r.client.SnapshotService(r.config.Snapshotter)
}

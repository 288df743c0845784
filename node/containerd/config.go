// Package containerd is the container runtime driver for containerd: it implements runtime.Images, Containers and Execer
// on a containerd of Pinion's own (package daemon) or on the host's.
package containerd

import (
	"context"
	"log/slog"
	"time"

	"pinion/node/containerd/images"
)

// Config holds the connection to containerd and the settings for containers. Address, Logger, Entrypoint,
// Logs, Dir and Log are required.
type Config struct {
	Address   string // containerd's socket, a path
	Namespace string // containerd namespace, "pinion" when empty
	// Shim is the path of the runc shim. Empty: the daemon's own, which is required for a host's daemon.
	Shim string
	// Runc is the path of runc. Empty: the one that the daemon's shim finds in its PATH.
	Runc   string
	Logger string // path of the pinion-logger binary, which reads every container's output
	// Entrypoint is the path of pinion-entrypoint, which gives containers the secrets of their environment.
	Entrypoint string
	// Logs returns the file for a container's output; the logger creates its directory.
	Logs func(task, container string) string
	// CDI returns the host's Container Device Interface specification; its devices are named by UUID. Nil on a host
	// without GPUs.
	CDI func(ctx context.Context) (kind string, spec []byte, err error)
	// Dir is the Runtime's own directory, created if it is missing. It holds the current CDI specification and a file for
	// each container that was started.
	Dir string
	// RegistryConfig is a directory, read at each pull: config.json holds credentials as docker login writes them,
	// certs.d/<registry>/hosts.toml holds mirrors and certificates as containerd documents them. Both are optional.
	RegistryConfig string
	BuiltinBinary  string // path of the pinion binary in the image pinion/self; empty: no such image
	// Snapshotter is containerd's snapshotter, the best one the daemon has when empty.
	Snapshotter string
	// DiskUsed returns the share of the images' disk that is in use, 0 to 1; nil: it is measured. While the disk is nearly
	// full, unused images are removed.
	DiskUsed func() (float64, error)
	// DiskFree returns the free bytes of that disk; nil: they are measured.
	DiskFree  func() (int64, error)
	Images    images.Limits
	LogLimits LogLimits
	// ConnectTimeout bounds connecting to a registry, 10 s when 0; StallTimeout bounds the wait for its next byte, 60 s
	// when 0.
	ConnectTimeout, StallTimeout time.Duration
	Limits                       Limits
	Log                          *slog.Logger
}

// Limits are limits that this host sets for every container, whatever its definition says.
type Limits struct {
	Processes       int64 // processes and threads of a container with at most one GPU, as many again for each further GPU; 0: no limit
	NoNewPrivileges bool  // no process gains privileges by running a setuid program
}

// processes is the limit for a container with so many GPUs.
func (l Limits) processes(gpus int) int64 { return l.Processes * int64(max(1, gpus)) }

// withDefaults returns the configuration with zero fields set to their defaults.
func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = "pinion"
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.StallTimeout == 0 {
		c.StallTimeout = 60 * time.Second
	}
	return c
}

// Package containerd is the container runtime driver for containerd: it implements runtime.Images, Containers and Execer
// on a containerd of Pinion's own (package daemon) or on the host's.
package containerd

import (
	"context"
	"log/slog"
	"time"
)

// Config says how a Runtime reaches containerd and what it gives to containers. Address, Logger, Logs, Dir and Log
// are required.
type Config struct {
	Address   string // containerd's socket, a path
	Namespace string // containerd namespace, "pinion" when empty
	// Shim is the path of the runc shim. Empty: the daemon finds its own, as a host's daemon must.
	Shim string
	// Runc is the path of runc. Empty: the one that the daemon's shim finds in its PATH.
	Runc   string
	Logger string // path of the pinion-logger binary, which every container's output goes through
	// Logs names the file that a container's output is kept in; the logger makes its directory.
	Logs func(task, container string) string
	// CDI answers the host's Container Device Interface specification; its devices are named by UUID. Nil on a host
	// without GPUs.
	CDI func(ctx context.Context) (kind string, spec []byte, err error)
	// Dir is a directory of the Runtime's own, made when it is missing: the CDI specification in use, and which
	// containers have been started.
	Dir string
	// RegistryConfig is a directory, read at each pull: config.json holds credentials as docker login writes them,
	// certs.d/<registry>/hosts.toml holds mirrors and certificates as containerd documents them. Both are optional.
	RegistryConfig string
	BuiltinBinary  string // path of the pinion binary that the image pinion/self is made of; empty: no such image
	// Snapshotter is containerd's snapshotter, the best one the daemon has when empty.
	Snapshotter string
	// DiskUsed is the share of the images' disk that is in use, 0 to 1; nil: it is measured. While the disk is nearly full,
	// unused images are removed.
	DiskUsed func() (float64, error)
	// ConnectTimeout bounds reaching a registry, 10 s when 0; StallTimeout bounds waiting for its next byte, 60 s
	// when 0.
	ConnectTimeout, StallTimeout time.Duration
	Log                          *slog.Logger
}

// withDefaults fills in what was left out.
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

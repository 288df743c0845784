// Package images holds the images of one host in containerd: pulls, the built-in image, and what containers need of an
// image that is here.
package images

import (
	"context"
	"log/slog"
	"time"

	containerd "github.com/containerd/containerd/v2/client"

	"pinion/node/runtime"
)

// Config is what a Store works with. Client, Snapshotter, the timeouts and Log are required.
type Config struct {
	Client      *containerd.Client
	Snapshotter string
	// RegistryConfig is a directory, read at each pull: config.json holds credentials as docker login writes them,
	// certs.d/<registry>/hosts.toml holds mirrors and certificates as containerd documents them. Both are optional.
	RegistryConfig string
	BuiltinBinary  string // path of the pinion binary that the image pinion/self is made of; empty: no such image
	// ConnectTimeout bounds reaching a registry, StallTimeout bounds waiting for its next byte.
	ConnectTimeout, StallTimeout time.Duration
	Log                          *slog.Logger
}

// Store is the images of one containerd namespace.
type Store struct {
	config  Config
	cache   *cache
	pulls   *pullGroup
	builtin *builtinImage
}

// New makes a store. It keeps nothing that a restart would lose, but a cache.
func New(c Config) *Store {
	return &Store{
		config:  c,
		cache:   &cache{client: c.Client, snapshotter: c.Snapshotter, byDigest: map[string]*Unpacked{}},
		pulls:   &pullGroup{byName: map[string]*sharedPull{}},
		builtin: &builtinImage{path: c.BuiltinBinary},
	}
}

// Load returns what a container needs of a pulled image. An image in use is answered from memory.
func (s *Store) Load(ctx context.Context, i runtime.Image) (*Unpacked, error) {
	return s.cache.load(ctx, i)
}

// Evict makes the next Load read the image again.
func (s *Store) Evict(i runtime.Image) { s.cache.evict(i) }

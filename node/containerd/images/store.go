// Package images holds the images of one host in containerd: pulls, the built-in image, and what containers need of an
// image that is here.
package images

import (
	"context"
	"log/slog"
	"sync"
	"time"

	containerd "github.com/containerd/containerd/v2/client"

	"pinion/node/runtime"
)

// Config is what a Store works with. Everything but RegistryConfig and BuiltinBinary is required.
type Config struct {
	Client      *containerd.Client
	Snapshotter string
	// RegistryConfig is a directory, read at each pull: config.json holds credentials as docker login writes them,
	// certs.d/<registry>/hosts.toml holds mirrors and certificates as containerd documents them. Both are optional.
	RegistryConfig string
	BuiltinBinary  string // path of the pinion binary that the image pinion/self is made of; empty: no such image
	// ConnectTimeout bounds reaching a registry, StallTimeout bounds waiting for its next byte.
	ConnectTimeout, StallTimeout time.Duration
	// DiskUsed is the share of the images' disk that is in use, 0 to 1; see the function DiskUsed.
	DiskUsed func() (float64, error)
	// InUse lists the digests of the images that containers were made from.
	InUse func(ctx context.Context) (map[string]bool, error)
	Log   *slog.Logger
}

// Store is the images of one containerd namespace.
type Store struct {
	config  Config
	cache   *cache
	pulls   *pullGroup
	builtin *builtinImage
	uses    *uses
	removal sync.RWMutex // held to read from finding an image to noting its use, to write while its names are removed
}

// New makes a store. It keeps nothing that a restart would lose, but a cache.
func New(c Config) *Store {
	return &Store{
		config:  c,
		cache:   &cache{client: c.Client, snapshotter: c.Snapshotter, byDigest: map[string]*Unpacked{}},
		pulls:   &pullGroup{byName: map[string]*sharedPull{}},
		builtin: &builtinImage{path: c.BuiltinBinary},
		uses:    newUses(),
	}
}

// Load returns what a container needs of a pulled image. An image in use is answered from memory.
func (s *Store) Load(ctx context.Context, i runtime.Image) (*Unpacked, error) {
	return s.cache.load(ctx, i)
}

// Evict makes the next Load read the image again.
func (s *Store) Evict(i runtime.Image) { s.cache.evict(i.Digest) }

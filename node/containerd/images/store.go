// Package images manages the images of one host in containerd: pulls, the built-in image, garbage collection, and the data
// of a local image that containers need.
package images

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	containerd "github.com/containerd/containerd/v2/client"

	"golang.org/x/sync/semaphore"

	"pinion/node/distribution"
	"pinion/node/runtime"
	"pinion/raftfsm/blob"
)

// Config is the configuration of a Store. All fields except RegistryConfig and BuiltinBinary are required.
type Config struct {
	Client      *containerd.Client
	Snapshotter string
	// RegistryConfig is a directory, read at each pull: config.json holds credentials as docker login writes them,
	// certs.d/<registry>/hosts.toml holds mirrors and certificates as containerd documents them. Both are optional.
	RegistryConfig string
	BuiltinBinary  string // path of the pinion binary that the image pinion/self is made of; empty: no such image
	// ConnectTimeout bounds connecting to a registry, StallTimeout bounds the wait for its next byte.
	ConnectTimeout, StallTimeout time.Duration
	// DiskUsed is the share of the images' disk that is in use, 0 to 1; see the function DiskUsed.
	DiskUsed func() (float64, error)
	// DiskFree returns the free bytes of that disk.
	DiskFree func() (int64, error)
	Limits   Limits
	// InUse lists the digests of the images that containers were made from.
	InUse func(ctx context.Context) (map[string]bool, error)
	Dir   string // for images that arrive, of the store alone
	// Namespace is a context with the namespace of the images.
	Namespace func(context.Context) context.Context
	Log       *slog.Logger
}

// Store is the images of one containerd namespace.
type Store struct {
	config     Config
	blobPeer   *distribution.BlobPeer
	process    string // of random digits, tells this process from earlier ones
	cache      *cache
	pulls      *pullGroup
	builtin    *builtinImage
	uses       *uses
	private    verifiedCredentials
	decoding   *semaphore.Weighted // documents, see maxDecoding
	keeper     *keeper
	prefetcher *prefetcher
	stop       context.CancelFunc // ends the keeper and the prefetcher
	background sync.WaitGroup
	importing  sync.Mutex   // held while an archive arrives
	removal    sync.RWMutex // read lock: from finding an image to recording its use; write lock: while its names are removed
}

// Open returns a store. It keeps only a cache in memory, so a restart loses nothing else.
func Open(c Config) (*Store, error) {
	c.Limits = c.Limits.withDefaults()
	s := &Store{
		config:  c,
		process: rand.Text(),
		cache:   &cache{client: c.Client, snapshotter: c.Snapshotter, byDigest: map[string]*Unpacked{}},
		pulls:   newPullGroup(),
		builtin: &builtinImage{path: c.BuiltinBinary},
		uses:    newUses(),

		decoding: semaphore.NewWeighted(maxDecoding),
	}
	s.keeper = &keeper{store: s, wanted: make(chan []blob.Image, 1), failed: map[string]bool{}}
	s.prefetcher = &prefetcher{store: s, wake: make(chan struct{}, 1)}
	var err error
	s.blobPeer, err = distribution.Open(distribution.Config{
		UploadRate: c.Limits.UploadRate, Dir: c.Dir, Log: c.Log,
		Store: newStoredBlobs(s), Keep: s.keeper.want,
	})
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.keeper.run(c.Namespace(ctx)) })
	s.background.Go(func() { s.prefetcher.run(c.Namespace(ctx)) })
	return s, nil
}

// Close ends the exchange of images with other hosts.
func (s *Store) Close() error {
	s.stop()
	err := s.blobPeer.Close()
	s.background.Wait()
	return err
}

// UsePeers has the store exchange blobs with other hosts from now on, and returns what answers those: see
// distribution.Exchange.Serve.
func (s *Store) UsePeers(peers distribution.Peers) (serve func(w http.ResponseWriter, r *http.Request, host string)) {
	s.blobPeer.SetPeers(peers)
	return s.blobPeer.Serve
}

// Load returns the data of a pulled image that a container needs. It is cached for images in use.
func (s *Store) Load(ctx context.Context, i runtime.Image) (*Unpacked, error) {
	return s.cache.load(ctx, i)
}

// Evict makes the next Load read the image again.
func (s *Store) Evict(i runtime.Image) { s.cache.evict(i.Digest) }

// Package distribution exchanges blobs of images with the other hosts of the pool: what one of them has, a registry need not give again.
// See DESIGN.md.
package distribution

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/time/rate"

	"pinion/raftfsm/blob"
)

// Config is the configuration of a BlobPeer. All fields but UploadRate and Keep are required.
type Config struct {
	// Store holds the whole blobs of this host.
	Store Store
	// Dir is the directory of arriving blobs, of the BlobPeer alone; Open empties it.
	Dir string
	// UploadRate bounds the bytes a second that other hosts get from this one; 0: no bound.
	UploadRate int64
	// Keep is called with the images that this host is to keep, as often as the leader says so.
	Keep func([]blob.Image)
	Log  *slog.Logger
}

// Peers are the other hosts of the pool.
type Peers interface {
	// Ask tells the tracker which blobs this host has, and asks for sources of those that it lacks.
	Ask(ctx context.Context, r blob.Request) (blob.Answer, error)
	// Changed is closed when there is another tracker.
	Changed() <-chan struct{}
	// Read reads bytes of a blob from a host that an answer has named, which also says how many bytes all of it has; errors wrap
	// blob.ErrNotHere or blob.ErrBusy if the host says so.
	Read(ctx context.Context, host, digest string, offset, length int64) (body io.ReadCloser, size int64, err error)
}

// Store is the blobs that are whole on this host, and were checked against their digests.
type Store interface {
	// Digests lists the blobs.
	Digests(ctx context.Context) ([]digest.Digest, error)
	// Images lists the images that consist of them.
	Images(ctx context.Context) ([]blob.Image, error)
	// ReaderAt reads one, of so many bytes; the error wraps blob.ErrNotHere if it is not there.
	ReaderAt(ctx context.Context, d digest.Digest) (ReaderAt, int64, error)
}

// ReaderAt is an open blob.
type ReaderAt interface {
	io.ReaderAt
	io.Closer
}

// Registry gives one blob as the registry has it.
type Registry interface {
	// Range reads bytes of it. ErrNoRanges: it gives no parts.
	Range(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	// OpenFrom reads from a byte to its end.
	OpenFrom(ctx context.Context, offset int64) (io.ReadCloser, error)
}

// BlobPeer is this host's part. It is safe for concurrent use.
type BlobPeer struct {
	config  Config
	peers   atomic.Pointer[Peers] // nil: there are none yet
	upload  *rate.Limiter         // nil: no limit
	uploads uploads
	slots   chan struct{} // one for each piece that comes from a registry
	avoid   peerBackoff

	mu         sync.Mutex
	downloads  map[digest.Digest]*Download
	epoch      string // of the tracker that was told what is here; empty: none
	added      []string
	named      bool          // it was told the images too
	generation int           // how often what it was told was forgotten
	alone      bool          // the tracker does not answer
	wake       chan struct{} // capacity 1: something is to be asked or told

	ctx    context.Context
	cancel context.CancelFunc
	loop   sync.WaitGroup
}

const (
	// maxUploads bounds the pieces that other hosts read from this one at a time.
	maxUploads = 16
	// maxRegistryFetches bounds the pieces that come to this host from registries at a time.
	maxRegistryFetches = 16
)

// Open returns an exchange without other hosts, which SetPeers gives it: until then blobs come from registries alone.
func Open(c Config) (*BlobPeer, error) {
	if err := os.RemoveAll(c.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	x := &BlobPeer{config: c, slots: make(chan struct{}, maxRegistryFetches), downloads: map[digest.Digest]*Download{}, wake: make(chan struct{}, 1)}
	if c.UploadRate > 0 {
		x.upload = rate.NewLimiter(rate.Limit(c.UploadRate), int(max(uploadBurst, c.UploadRate/10)))
	}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.loop.Go(x.askLoop)
	return x, nil
}

// SetPeers begins to exchange blobs with other hosts.
func (x *BlobPeer) SetPeers(p Peers) {
	x.peers.Store(&p)
	x.wakeUp()
}

// errNoPeers is the error of a question that nobody can be asked.
var errNoPeers = errors.New("this host is in touch with no other one")

// askTracker asks the tracker.
func (x *BlobPeer) askTracker(ctx context.Context, r blob.Request) (blob.Answer, error) {
	if p := x.peers.Load(); p != nil {
		return (*p).Ask(ctx, r)
	}
	return blob.Answer{}, errNoPeers
}

// Close ends the exchange. Readers that are open fail.
func (x *BlobPeer) Close() error {
	x.cancel()
	x.loop.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range x.downloads {
		d.close()
	}
	clear(x.downloads)
	return nil
}

// Fetch returns a reader of a blob that comes from other hosts and from the registry; pieces arrive in any order, and are read in
// theirs. received is told how many bytes have come from other hosts. The last bytes are given after all of them were checked against
// the digest, of an algorithm that is available. ErrRestart: some were wrong and have been replaced; what was read of them is to be forgotten, and Fetch called again.
func (x *BlobPeer) Fetch(ctx context.Context, d digest.Digest, size int64, from Registry, received func(n int64)) (*Reader, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	download := x.downloads[d]
	if download == nil {
		var err error
		if download, err = newDownload(x, d, size, from, received); err != nil {
			return nil, err
		}
		x.downloads[d] = download
	}
	if !download.open(ctx) {
		return nil, fmt.Errorf("blob %s is being fetched already", d)
	}
	return &Reader{ctx: ctx, d: download, hash: d.Algorithm().Hash()}, nil
}

// MarkComplete notes that the store has a blob: other hosts get it from there, and the file of its download goes.
func (x *BlobPeer) MarkComplete(d digest.Digest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if download := x.downloads[d]; download != nil && !download.isOpen() {
		download.close()
		delete(x.downloads, d)
	}
	if len(x.added) < blob.MaxHeld {
		x.added = append(x.added, d.String())
	}
	x.wakeUp()
}

// Removed notes that blobs have gone from the store.
func (x *BlobPeer) Removed() {
	x.forgetTold()
	x.wakeUp()
}

// Named notes that an image has come, or has another name.
func (x *BlobPeer) Named() {
	x.tellImages()
	x.wakeUp()
}

// drop forgets a download that nobody reads any more and that will not be whole.
func (x *BlobPeer) drop(d *Download) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.downloads[d.digest] == d {
		delete(x.downloads, d.digest)
	}
	d.close()
}

func (x *BlobPeer) wakeUp() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// peerBackoff is the hosts that are not asked for a while, because of what they did.
type peerBackoff struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// add has a host avoided for a time at least.
func (a *peerBackoff) add(host string, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	if until := time.Now().Add(d); until.After(a.until[host]) {
		a.until[host] = until
	}
}

// list are the hosts to avoid now, as many as the tracker takes.
func (a *peerBackoff) list() (hosts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for host, until := range a.until {
		if time.Now().After(until) {
			delete(a.until, host)
			continue
		}
		hosts = append(hosts, host)
	}
	return hosts[:min(len(hosts), blob.MaxAvoid)]
}

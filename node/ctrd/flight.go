package ctrd

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node"
	"pinion/raftfsm/spec"
)

// reportEvery is how often a pull tells how far it is.
const reportEvery = 200 * time.Millisecond

// flights are the pulls under way, by image name.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

// flight is one pull that any number of callers wait for. It goes on while one of them is there.
type flight struct {
	name        string
	done, total atomic.Int64 // bytes
	cancel      context.CancelFunc
	waiting     int // guarded by flights.mu
	landed      chan struct{}
	image       node.Image
	err         error
}

// join waits for the pull of name, and starts it when none is under way. It calls progress from the caller's own
// goroutine.
func (fs *flights) join(ctx context.Context, name string, progress func(spec.Pull), pull func(context.Context, *flight) (node.Image, error)) (node.Image, error) {
	f := fs.board(ctx, name, pull)
	defer fs.leave(f)
	report := func() {
		if progress != nil {
			progress(spec.Pull{Image: name, Done: f.done.Load(), Total: f.total.Load()})
		}
	}
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		report()
		select {
		case <-ctx.Done():
			return node.Image{}, ctx.Err()
		case <-f.landed:
			report()
			return f.image, f.err
		case <-ticker.C:
		}
	}
}

func (fs *flights) board(ctx context.Context, name string, pull func(context.Context, *flight) (node.Image, error)) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.running[name]
	if f == nil {
		pulling, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{name: name, cancel: cancel, landed: make(chan struct{})}
		fs.running[name] = f
		go func() {
			f.image, f.err = pull(pulling, f)
			fs.land(f)
		}()
	}
	f.waiting++
	return f
}

func (fs *flights) land(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.running[f.name] == f {
		delete(fs.running, f.name)
	}
	close(f.landed)
}

// leave ends the pull when nobody waits for it any more.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if fs.running[f.name] == f {
			delete(fs.running, f.name)
		}
	}
}

// watchContent adds up what belongs to the image, and what of it is here already; the bytes that arrive are counted by
// the transport. As soon as the image's configuration is here, an image for another kind of machine is refused.
func (f *flight) watchContent(store content.Store) func(images.Handler) images.Handler {
	var counted sync.Map
	return func(next images.Handler) images.Handler {
		return images.HandlerFunc(func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
			children, err := next.Handle(ctx, d)
			if err == nil && images.IsConfigType(d.MediaType) {
				err = checkPlatform(ctx, store, d)
			}
			for _, child := range children {
				if images.IsManifestType(child.MediaType) || images.IsIndexType(child.MediaType) {
					continue
				}
				if _, again := counted.LoadOrStore(child.Digest, true); again {
					continue
				}
				f.total.Add(child.Size)
				if _, err := store.Info(ctx, child.Digest); err == nil {
					f.done.Add(child.Size)
				}
			}
			return children, err
		})
	}
}

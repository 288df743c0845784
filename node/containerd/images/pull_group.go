package images

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// progressInterval is the interval between two reports of a pull's progress.
const progressInterval = 200 * time.Millisecond

// pullGroup holds the pulls in flight. Those of one image name come one after the other.
type pullGroup struct {
	mu       sync.Mutex
	bySum    map[[sha256.Size]byte]*sharedPull // that may be joined, by image name and credentials
	underWay map[*sharedPull]struct{}          // these, and those that were cancelled and have not ended
}

func newPullGroup() *pullGroup {
	return &pullGroup{bySum: map[[sha256.Size]byte]*sharedPull{}, underWay: map[*sharedPull]struct{}{}}
}

// sharedPull is one pull with any number of waiting callers. It is cancelled when the last one leaves.
type sharedPull struct {
	name            string
	login           *runtime.RegistryLogin // of the task that asks; nil: the host's own
	received, total atomic.Int64           // bytes
	pace            pace
	cancel          context.CancelFunc
	waiters         int // guarded by pullGroup.mu
	finished        chan struct{}
	image           runtime.Image
	err             error
}

// join waits for the pull of name, and starts it if none is in flight. progress is called on the caller's own goroutine.
func (fs *pullGroup) join(ctx context.Context, name string, login *runtime.RegistryLogin, progress func(spec.Pull), pull func(context.Context, *sharedPull) (runtime.Image, error)) (runtime.Image, error) {
	f := fs.acquire(ctx, name, login, pull)
	defer fs.release(f)
	report := func() {
		if progress != nil {
			progress(spec.Pull{Image: name, Done: f.received.Load(), Total: f.total.Load()})
		}
	}
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		report()
		select {
		case <-ctx.Done():
			return runtime.Image{}, ctx.Err()
		case <-f.finished:
			report()
			return f.image, f.err
		case <-ticker.C:
		}
	}
}

func (fs *pullGroup) acquire(ctx context.Context, name string, login *runtime.RegistryLogin, pull func(context.Context, *sharedPull) (runtime.Image, error)) *sharedPull {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.bySum[credentialsSum(name, login)]
	if f == nil {
		pulling, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &sharedPull{name: name, login: login, cancel: cancel, finished: make(chan struct{})}
		before := fs.ofName(name)
		fs.bySum[credentialsSum(name, login)], fs.underWay[f] = f, struct{}{}
		go func() {
			if f.err = waitFor(pulling, before); f.err == nil {
				f.image, f.err = pull(pulling, f)
			}
			fs.finish(f)
		}()
	}
	f.waiters++
	return f
}

// ofName are the pulls of a name that are under way: one that was cancelled is until what it has left is gone.
func (fs *pullGroup) ofName(name string) (all []*sharedPull) {
	for f := range fs.underWay {
		if f.name == name {
			all = append(all, f)
		}
	}
	return all
}

// waitFor waits until the pulls have ended, however they do.
func waitFor(ctx context.Context, pulls []*sharedPull) error {
	for _, f := range pulls {
		select {
		case <-f.finished:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (fs *pullGroup) finish(f *sharedPull) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.endJoining(f)
	delete(fs.underWay, f)
	close(f.finished)
}

// endJoining lets nobody join the pull any more.
func (fs *pullGroup) endJoining(f *sharedPull) {
	if sum := credentialsSum(f.name, f.login); fs.bySum[sum] == f {
		delete(fs.bySum, sum)
	}
}

// release cancels the pull when its last waiter has left.
func (fs *pullGroup) release(f *sharedPull) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		f.cancel()
		fs.endJoining(f)
	}
}

// watchContent adds up the size of the image's content and the part that is local already; the transport counts the bytes
// that arrive. An image for another platform is refused as soon as its configuration is local, one that is too much as soon as
// that shows.
func (f *sharedPull) watchContent(store content.Store) func(images.Handler) images.Handler {
	var counted sync.Map
	var limits documentLimits
	return func(next images.Handler) images.Handler {
		return images.HandlerFunc(func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
			if err := limits.check(d); err != nil {
				return nil, err
			}
			children, err := next.Handle(ctx, d)
			if err == nil {
				err = limits.checkChildren(children)
			}
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
					f.received.Add(child.Size)
				}
			}
			return children, err
		})
	}
}

// anyUnderWay reports whether one of the names is being pulled.
func (fs *pullGroup) anyUnderWay(names []string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool { return len(fs.ofName(name)) > 0 })
}

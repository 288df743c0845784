package images

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// prefetcher pulls images before a task needs them, one after the other.
type prefetcher struct {
	store *Store
	wake  chan struct{} // capacity 1: there may be something to pull

	mu     sync.Mutex
	wanted []string           // references, in their order
	tried  map[string]bool    // of those
	now    string             // the one that is pulled, empty: none
	cancel context.CancelFunc // of that pull
}

// Prefetch has a store pull images in the background, at most blob.MaxPrefetch of them, in place of those of the call before: what is
// not named any more is pulled no further, unless a task waits for it. What fails is left to the task.
func Prefetch(s *Store, refs []string) {
	p := s.prefetcher
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.tried
	p.wanted, p.tried = refs, map[string]bool{}
	for _, ref := range refs {
		p.tried[ref] = before[ref]
	}
	if p.now != "" && !slices.Contains(refs, p.now) {
		p.cancel()
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run pulls until ctx ends.
func (p *prefetcher) run(ctx context.Context) {
	for {
		ref, pulling := p.next(ctx)
		if ref != "" {
			p.pull(pulling, ref)
			continue
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
	}
}

// next begins with the next image, empty when there is none.
func (p *prefetcher) next(ctx context.Context) (ref string, pulling context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != "" {
		p.cancel()
		p.now = ""
	}
	i := slices.IndexFunc(p.wanted, func(ref string) bool { return !p.tried[ref] })
	if i < 0 || ctx.Err() != nil {
		return "", nil
	}
	p.now = p.wanted[i]
	p.tried[p.now] = true
	pulling, p.cancel = context.WithCancel(ctx)
	return p.now, pulling
}

func (p *prefetcher) pull(ctx context.Context, ref string) {
	err := p.checkRoom()
	if err == nil {
		_, err = p.store.Pull(ctx, ref, nil)
	}
	if err != nil && ctx.Err() == nil {
		p.store.config.Log.Info("an image is not fetched before a task needs it", "image", ref, "reason", err)
	}
}

// checkRoom refuses while images are removed from the disk: what may be needed is no reason to remove what was.
func (p *prefetcher) checkRoom() error {
	used, err := p.store.config.DiskUsed()
	if low := p.store.config.Limits.Low; err == nil && used >= low {
		err = fmt.Errorf("the disk of the images is nearly full: %.0f%% of it is in use, and above %.0f%% nothing comes before a task needs it", 100*used, 100*low)
	}
	return err
}

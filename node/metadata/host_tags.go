package metadata

import (
	"context"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// hostTagsAge is the time for which the tags of the host are answered from memory: all containers of a host ask together.
	hostTagsAge = 10 * time.Second
	// hostTagsTimeout bounds the wait of a container for them. The pool may not answer, and the previous tags are better than nothing.
	hostTagsTimeout = time.Second
)

// hostTags are the tags of the host, as the pool has told them last.
type hostTags struct {
	mu    sync.Mutex
	asked time.Time // zero: never
	tags  []spec.Tag
}

// get is the tags, asked anew when they are old. The previous ones when ask fails, none when it has never succeeded.
func (h *hostTags) get(ctx context.Context, now time.Time, ask func(context.Context) ([]spec.Tag, error)) []spec.Tag {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ask == nil || !h.asked.IsZero() && now.Sub(h.asked) < hostTagsAge {
		return h.tags
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hostTagsTimeout) // a container that hangs up takes them from no other one
	defer cancel()
	h.asked = now // one that fails counts, too
	if tags, err := ask(ctx); err == nil {
		h.tags = tags
	}
	return h.tags
}

package node

import (
	"context"
	"slices"
	"time"
)

// pruneInterval is the time between two checks of the images' disk.
const pruneInterval = time.Minute

// pruneImages has the runtime remove unused images while their disk is nearly full. It begins after the first answer to
// watchAssignments: before, the agent does not know which images its tasks need.
func (n *Node) pruneImages(ctx context.Context) {
	select {
	case <-n.Assigned:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		if err := n.config.Images.Prune(ctx, n.images()); err != nil && ctx.Err() == nil {
			n.config.Log.Warn("unused images cannot be removed, they take space", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// images lists the images of the tasks of this host, those that wait for their start included.
func (n *Node) images() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var refs []string
	for _, r := range n.runners {
		refs = append(refs, r.Images()...)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

package gpu

import (
	"context"
	"slices"
)

// ComputeModes is a Source whose devices can be reserved for one process.
type ComputeModes interface {
	// SetExclusive sets the compute mode of the device: EXCLUSIVE_PROCESS, in which one process at a time computes on it, or DEFAULT. The mode
	// outlives this process, and ends with the driver.
	SetExclusive(ctx context.Context, uuid string, exclusive bool) error
}

// Sharer keeps containers to their shares of a host's GPUs. What it does for a GPU outlives this process, as containers do. It is safe for
// concurrent use.
type Sharer interface {
	// Share makes the GPU ready for one more container, which may have mib of its memory, and returns the directory of the pipes that the
	// container needs. While it fails no container may start: nothing would keep it to its share. Only GPUs that no process has open may be
	// shared for the first time.
	Share(ctx context.Context, uuid string, mib int64) (pipes string, err error)
	// Check returns why the GPU's containers cannot use it, as far as that is known without asking; nil when they can.
	Check(uuid string) error
	// Watch returns why the GPU's containers cannot use it any more, as soon as that is so; nil when ctx ends before.
	Watch(ctx context.Context, uuid string) error
	// End makes a GPU that was shared one as any other. Its containers have ended before. Nil when it was not shared.
	End(ctx context.Context, uuid string) error
	// EndOthers is End for every GPU that an earlier process shared, but for those with these UUIDs.
	EndOthers(ctx context.Context, uuids []string) error
}

// Lacks reports whether the host is known not to have the device with the UUID: nothing can have it open then.
func (i Inventory) Lacks(uuid string) bool {
	return i.Problem == "" && !slices.ContainsFunc(i.Devices, func(d Device) bool {
		return d.UUID == uuid
	})
}

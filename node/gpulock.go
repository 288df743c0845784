package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
)

const (
	idlePollMin = 20 * time.Millisecond
	idlePollMax = time.Second
)

// gpuLock gives each GPU of this host to one task at a time. The cluster's ledger already does; this is the host's
// own word on it: a GPU changes hands only when the last task's containers are gone and no process has the device
// open.
type gpuLock struct {
	source gpu.Source
	log    *slog.Logger

	mu        sync.Mutex
	owners    map[string]string // GPU UUID -> task id
	knownIdle map[string]bool   // GPUs that were proven free after their last task
	changed   chan struct{}     // closed and replaced at each release
}

func newGPULock(source gpu.Source, log *slog.Logger) *gpuLock {
	return &gpuLock{source: source, log: log, owners: map[string]string{}, knownIdle: map[string]bool{}, changed: make(chan struct{})}
}

// claim records what a container that was found holds. Nothing is asked: it has the GPUs already.
func (h *gpuLock) claim(taskID string, uuids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uuid := range uuids {
		if other, ok := h.owners[uuid]; ok && other != taskID {
			h.log.Error("two tasks hold one GPU", "gpu", uuid, "task", taskID, "other", other)
			continue
		}
		h.owners[uuid] = taskID
	}
}

// acquire waits until all the GPUs are the task's, and takes them together or not at all. GPUs that it holds already
// are its own. It answers those that have to be proven free first, because nobody has since their last task: all of
// them after a start of the agent, none in the normal course, so that no start has to wait for a look at every process.
func (h *gpuLock) acquire(ctx context.Context, taskID string, uuids []string) (unchecked []string, err error) {
	logged := false
	for {
		unchecked, holder, changed := h.tryAcquire(taskID, uuids)
		if holder == "" {
			return unchecked, nil
		}
		if !logged {
			h.log.Info("task waits for a GPU that another task of this host still holds", "task", taskID, "holder", holder)
			logged = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryAcquire takes the GPUs, or says whose one of them is and how to hear of a change.
func (h *gpuLock) tryAcquire(taskID string, uuids []string) (unchecked []string, holder string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uuid := range uuids {
		if other, ok := h.owners[uuid]; ok && other != taskID {
			return nil, other, h.changed
		}
	}
	for _, uuid := range uuids {
		h.owners[uuid] = taskID
		if !h.knownIdle[uuid] {
			unchecked = append(unchecked, uuid)
		}
		delete(h.knownIdle, uuid)
	}
	return unchecked, "", nil
}

// heldBy lists the GPUs that are the task's now.
func (h *gpuLock) heldBy(taskID string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var uuids []string
	for uuid, id := range h.owners {
		if id == taskID {
			uuids = append(uuids, uuid)
		}
	}
	slices.Sort(uuids)
	return uuids
}

// release gives back whatever the task holds, after it was proven free.
func (h *gpuLock) release(taskID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uuid, id := range h.owners {
		if id == taskID {
			delete(h.owners, uuid)
			h.knownIdle[uuid] = true
		}
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// waitIdle waits until no process has any of the devices open. waiting is called when that takes longer than a look, and
// each time the reason changes.
func (h *gpuLock) waitIdle(ctx context.Context, uuids []string, onBusy func(reason string)) error {
	last := ""
	for wait := idlePollMin; ; wait = min(2*wait, idlePollMax) {
		reason := h.busyReason(ctx, uuids)
		if reason == "" {
			return nil
		}
		if reason != last {
			onBusy(reason)
			last = reason
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// busyReason says why the devices cannot change hands yet; empty when they can.
func (h *gpuLock) busyReason(ctx context.Context, uuids []string) string {
	for _, uuid := range uuids {
		pids, err := h.source.Processes(ctx, uuid)
		if err != nil && !h.deviceGone(ctx, uuid) {
			return fmt.Sprintf("who uses GPU %s cannot be told: %v", uuid, err)
		}
		if len(pids) > 0 {
			return fmt.Sprintf("GPU %s is still open in processes %v", uuid, pids)
		}
	}
	return ""
}

// deviceGone reports that the host does not have the device any more, so there is nothing to hand over.
func (h *gpuLock) deviceGone(ctx context.Context, uuid string) bool {
	inventory, err := h.source.Inventory(ctx)
	if err != nil || inventory.Problem != "" {
		return false
	}
	return !slices.ContainsFunc(inventory.Devices, func(d gpu.Device) bool {
		return d.UUID == uuid || slices.ContainsFunc(d.MIG, func(m gpu.MIG) bool { return m.UUID == uuid })
	})
}

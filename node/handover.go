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
	firstLook   = 20 * time.Millisecond
	longestLook = time.Second
)

// handover gives each GPU of this host to one task at a time. The cluster's ledger already does; this is the host's
// own word on it: a GPU changes hands only when the last task's containers are gone and no process has the device
// open.
type handover struct {
	source gpu.Source
	log    *slog.Logger

	mu      sync.Mutex
	holder  map[string]string // GPU UUID -> task id
	proven  map[string]bool   // GPUs that were proven free after their last task
	changed chan struct{}     // closed and replaced at each release
}

func newHandover(source gpu.Source, log *slog.Logger) *handover {
	return &handover{source: source, log: log, holder: map[string]string{}, proven: map[string]bool{}, changed: make(chan struct{})}
}

// claim records what a container that was found holds. Nothing is asked: it has the GPUs already.
func (h *handover) claim(taskID string, uuids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uuid := range uuids {
		if other, ok := h.holder[uuid]; ok && other != taskID {
			h.log.Error("two tasks hold one GPU", "gpu", uuid, "task", taskID, "other", other)
			continue
		}
		h.holder[uuid] = taskID
	}
}

// acquire waits until all the GPUs are the task's, and takes them together or not at all. GPUs that it holds already
// are its own. It answers those that have to be proven free first, because nobody has since their last task: all of
// them after a start of the agent, none in the normal course, so that no start has to wait for a look at every process.
func (h *handover) acquire(ctx context.Context, taskID string, uuids []string) (unproven []string, err error) {
	told := false
	for {
		unproven, by, changed := h.try(taskID, uuids)
		if by == "" {
			return unproven, nil
		}
		if !told {
			h.log.Info("task waits for a GPU that another task of this host still holds", "task", taskID, "holder", by)
			told = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes the GPUs, or says whose one of them is and how to hear of a change.
func (h *handover) try(taskID string, uuids []string) (unproven []string, by string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uuid := range uuids {
		if other, ok := h.holder[uuid]; ok && other != taskID {
			return nil, other, h.changed
		}
	}
	for _, uuid := range uuids {
		h.holder[uuid] = taskID
		if !h.proven[uuid] {
			unproven = append(unproven, uuid)
		}
		delete(h.proven, uuid)
	}
	return unproven, "", nil
}

// held lists the GPUs that are the task's now.
func (h *handover) held(taskID string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var uuids []string
	for uuid, id := range h.holder {
		if id == taskID {
			uuids = append(uuids, uuid)
		}
	}
	slices.Sort(uuids)
	return uuids
}

// release gives back whatever the task holds, after it was proven free.
func (h *handover) release(taskID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uuid, id := range h.holder {
		if id == taskID {
			delete(h.holder, uuid)
			h.proven[uuid] = true
		}
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// prove waits until no process has any of the devices open. waiting is called when that takes longer than a look, and
// each time the reason changes.
func (h *handover) prove(ctx context.Context, uuids []string, waiting func(reason string)) error {
	last := ""
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		reason := h.inUse(ctx, uuids)
		if reason == "" {
			return nil
		}
		if reason != last {
			waiting(reason)
			last = reason
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// inUse says why the devices cannot change hands yet; empty when they can.
func (h *handover) inUse(ctx context.Context, uuids []string) string {
	for _, uuid := range uuids {
		pids, err := h.source.Processes(ctx, uuid)
		if err != nil && !h.gone(ctx, uuid) {
			return fmt.Sprintf("who uses GPU %s cannot be told: %v", uuid, err)
		}
		if len(pids) > 0 {
			return fmt.Sprintf("GPU %s is still open in processes %v", uuid, pids)
		}
	}
	return ""
}

// gone reports that the host does not have the device any more, so there is nothing to hand over.
func (h *handover) gone(ctx context.Context, uuid string) bool {
	inventory, err := h.source.Inventory(ctx)
	if err != nil || inventory.Problem != "" {
		return false
	}
	return !slices.ContainsFunc(inventory.Devices, func(d gpu.Device) bool {
		return d.UUID == uuid || slices.ContainsFunc(d.MIG, func(m gpu.MIG) bool { return m.UUID == uuid })
	})
}

package gpulock

import (
	"context"
	"fmt"
	"time"

	"pinion/gpu"
	"pinion/packaging/backoff"
)

const (
	idlePollMin = 20 * time.Millisecond
	idlePollMax = time.Second
)

// WaitIdle waits until no process has any of the devices open. onBusy is called when the first check finds one busy, and
// each time the reason changes.
func (l *Locks) WaitIdle(ctx context.Context, uuids []string, onBusy func(reason string)) error {
	last := ""
	for poll := (backoff.Backoff{Min: idlePollMin, Max: idlePollMax}); ; {
		reason := l.busyReason(ctx, uuids)
		if reason == "" {
			return nil
		}
		if reason != last {
			onBusy(reason)
			last = reason
		}
		if err := poll.Wait(ctx); err != nil {
			return err
		}
	}
}

// busyReason explains why the devices cannot change owners yet; empty when they can.
func (l *Locks) busyReason(ctx context.Context, uuids []string) string {
	for _, uuid := range uuids {
		pids, err := l.source.Processes(ctx, uuid)
		if err != nil && !l.deviceGone(ctx, uuid) {
			return fmt.Sprintf("the processes on GPU %s cannot be listed: %v", uuid, err)
		}
		if len(pids) > 0 {
			return fmt.Sprintf("GPU %s is still open in processes %v", uuid, pids)
		}
	}
	return ""
}

// deviceGone reports whether the host has lost the device, or does not reach it: no process can compute on it.
func (l *Locks) deviceGone(ctx context.Context, uuid string) bool {
	inventory, err := l.source.Inventory(ctx)
	if err != nil {
		return false
	}
	device, _ := inventory.Device(uuid)
	return inventory.Lacks(uuid) || device.Health == gpu.Lost
}

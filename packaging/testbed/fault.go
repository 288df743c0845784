package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Rest lets time go by, until the context ends at the latest: the length of a fault, or the pace of a client. A test that
// waits for something polls for it.
func Rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// FailWrites makes every write of the host's pinion to a file fail for the duration d, with the error "file too large", and
// repeats this with pauses of d. A process that pinion starts meanwhile fails like it, for ever; earlier ones do not.
func (h *Host) FailWrites(ctx context.Context, d time.Duration, times int) error {
	p, ok := h.process()
	if !ok {
		return fmt.Errorf("no pinion runs on %s", h.Name)
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err
	}
	none := limit
	none.Cur = 0
	for range times {
		if err := unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, &none, nil); err != nil {
			return err
		}
		Rest(ctx, d)
		if err := unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
			return err
		}
		Rest(ctx, d)
	}
	return context.Cause(ctx)
}

// CutPower ends the host as a machine ends that loses its power: no packet of it is seen any more, and all of its processes are gone, tasks and containerd
// with them. Heal connects it to the switch again.
func (h *Host) CutPower(ctx context.Context) error {
	return errors.Join(h.testbed.setLink(h, "down"), h.killProcesses(ctx))
}

// undoFaults ends all faults of the host, so that its pinion can clean up.
func (h *Host) undoFaults() error {
	err := h.Disk.reset()
	if p, ok := h.process(); ok {
		err = errors.Join(err, p.signal(unix.SIGCONT))
	}
	return err
}

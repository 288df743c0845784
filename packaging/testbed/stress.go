package testbed

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// busyLoops share the machine's CPUs with what is tested.
	busyLoops = 4
	// diskStall is the time for which a disk hangs each time, diskWorks the average time between.
	diskStall = 300 * time.Millisecond
	diskWorks = time.Second
)

// Stress makes each disk hang for 300 ms time and again, each at its own times, and shares the CPUs with four busy loops, until the
// context ends. The disks work again when it returns.
func Stress(ctx context.Context, disks []Disk) error {
	starving, ctx := errgroup.WithContext(ctx)
	for range busyLoops {
		loop := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			return errors.Join(err, starving.Wait())
		}
		starving.Go(func() error { _ = loop.Wait(); return nil }) // it ends by the context's signal, which is no failure
	}
	for _, d := range disks {
		starving.Go(func() error { return d.stall(ctx) })
	}
	return starving.Wait()
}

// stall makes the disk hang time and again, until the context ends.
func (d Disk) stall(ctx context.Context) error {
	for Rest(ctx, rand.N(2*diskWorks)); ctx.Err() == nil; Rest(ctx, rand.N(2*diskWorks)) {
		if err := d.Freeze(); err != nil {
			return err
		}
		Rest(context.Background(), diskStall)
		if err := d.Thaw(); err != nil {
			return err
		}
	}
	return nil
}

package images

import (
	"context"
	"fmt"
	"time"
)

// Limits bound the disk and the network that images take of this host.
type Limits struct {
	// High is the share of the disk in use above which Prune removes unused images, Low the share at which it stops. 0 is the
	// kubelet's: 0.85 and 0.80.
	High, Low float64
	// MaxAge is the time without use after which Prune removes an image whatever the disk; 0: no image is too old.
	MaxAge time.Duration
	// Floor is the free space in bytes that pulls leave.
	Floor int64
	// UploadRate bounds the bytes a second of images that other hosts get from this one; 0: no bound.
	UploadRate int64
}

func (l Limits) withDefaults() Limits {
	if l.High == 0 {
		l.High, l.Low = highWater, lowWater
	}
	return l
}

// floorInterval is the time between two looks at the free space during a pull: an unpacked layer may be a thousand times larger
// than what is downloaded.
const floorInterval = 100 * time.Millisecond

// floorError refuses a pull because the disk is at its floor.
type floorError struct{ free, floor int64 }

func (e *floorError) Error() string {
	return fmt.Sprintf("this host's disk has %d MiB free, and %d MiB must stay free", e.free>>20, e.floor>>20)
}

const floorAdvice = "free some (unused images go by themselves above --image-gc-high), or lower --min-free of `pinion up`"

// checkFloor returns a floorError while the disk is at its floor.
func (s *Store) checkFloor() error {
	if s.config.Limits.Floor == 0 {
		return nil
	}
	free, err := s.config.DiskFree()
	if err == nil && free < s.config.Limits.Floor {
		return &floorError{free, s.config.Limits.Floor}
	}
	return err
}

// aboveFloor is a context that ends when the disk reaches its floor; the floorError is its cause. cancel must be called.
func (s *Store) aboveFloor(ctx context.Context) (above context.Context, cancel context.CancelCauseFunc) {
	above, cancel = context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(floorInterval)
		defer tick.Stop()
		for {
			if err := s.checkFloor(); err != nil {
				cancel(err)
			}
			select {
			case <-above.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return above, cancel
}

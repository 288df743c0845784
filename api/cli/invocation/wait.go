package invocation

import (
	"context"
	"time"
)

// WaitUntilNone counts once a second what is left, until nothing is. tell is called when the number changes, and late once timeout is over, for the
// error of the wait; 0 is no limit.
func (inv *Invocation) WaitUntilNone(ctx context.Context, timeout time.Duration, count func() (int, error), tell func(n int), late func(n int) error) error {
	begin, told := inv.Now(), 0
	for {
		left, err := count()
		if err != nil || left == 0 {
			return err
		}
		if left != told {
			told = left
			tell(left)
		}
		if timeout > 0 && inv.Now().Sub(begin) >= timeout {
			return late(left)
		}
		if err := inv.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

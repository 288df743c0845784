package images

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/runtime"
)

// The next pull of a name begins when the one that was cancelled has cleared up: it would remove the name that the next one makes.
func TestAPullWaitsForTheEndOfACancelledOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, running := newPullGroup(), 0
		pull := func(ctx context.Context, _ *sharedPull) (runtime.Image, error) {
			if running++; running > 1 {
				t.Error("two pulls of one name run at once")
			}
			defer func() { running-- }()
			select {
			case <-ctx.Done():
				time.Sleep(time.Minute) // clears up
				return runtime.Image{}, ctx.Err()
			case <-time.After(time.Second):
				return runtime.Image{Ref: "a"}, nil
			}
		}
		for range 2 { // the second one is cancelled while it waits
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := group.join(ctx, "a", nil, nil, pull); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if !group.anyUnderWay([]string{"a"}) {
			t.Error("the image may be removed while a pull clears up")
		}
		if image, err := group.join(t.Context(), "a", nil, nil, pull); err != nil || image.Ref != "a" {
			t.Errorf("%+v, %v", image, err)
		}
		if len(group.bySum)+len(group.underWay) > 0 {
			t.Errorf("%d pulls are left", len(group.underWay))
		}
	})
}

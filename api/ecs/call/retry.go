package call

import (
	"context"
	"errors"

	"pinion/raftfsm/spec"
)

// MaxAttempts is how often a change is made anew that others came before.
const MaxAttempts = 5

// RetryOn makes a change, and makes it anew with the state as it is then, for as long as it is refused with overtaken: others came before. At last it is
// spec.ErrBusy.
func RetryOn[O any](ctx context.Context, r *Request, overtaken error, change func() (*O, error)) (*O, error) {
	for range MaxAttempts {
		out, err := change()
		if !errors.Is(err, overtaken) {
			return out, err
		}
		if err := r.Renew(ctx); err != nil {
			return nil, err
		}
	}
	return nil, spec.ErrBusy
}

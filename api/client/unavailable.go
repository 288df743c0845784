package client

import "errors"

// IsUnavailable reports whether an error may pass by itself: no host answers, it cannot serve the request for the
// moment, or a stream was interrupted. The same request may succeed later, also at another host.
func IsUnavailable(err error) bool {
	var refused *APIError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrLogInterrupted) || errors.Is(err, ErrEventsInterrupted)
}

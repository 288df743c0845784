package runtimetest

import "time"

// closedSoon reports whether c was closed within a moment.
func closedSoon(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

package runtimetest

import "time"

// waitABit reports whether c was closed within a moment.
func waitABit(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

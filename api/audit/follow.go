package audit

// followBuffer is how many refusals a follower may be behind.
const followBuffer = 256

// Follow returns the refusals that are written from now on, until stop is called: those that repeat one come as a count, as in the
// file. A follower that is too far behind misses some, which the file has. A nil Log has none.
func (l *Log) Follow() (refusals <-chan Line, stop func()) {
	if l == nil {
		return nil, func() {}
	}
	to := make(chan Line, followBuffer)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.follow == nil {
		l.follow = map[chan Line]struct{}{}
	}
	l.follow[to] = struct{}{}
	return to, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.follow, to)
	}
}

// notifyFollowers sends a refusal to the followers. It is called with the mutex held.
func (l *Log) notifyFollowers(e Line) {
	if e.Outcome != Refused {
		return
	}
	for to := range l.follow {
		select {
		case to <- e:
		default:
		}
	}
}

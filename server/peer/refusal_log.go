package peer

import "sync"

// maxLoggedRefusals bounds what is remembered of refusals that were logged. Past it the oldest is forgotten, and logged again the next time.
const maxLoggedRefusals = 1024

// RefusalLog remembers which refusals of hosts were logged, so that a host which keeps trying fills no log. Every refusal is counted and
// reported all the same: see Refusals. The zero value is ready. It is safe for concurrent use.
type RefusalLog struct {
	mu     sync.Mutex
	known  map[refusedHost]bool
	oldest []refusedHost // what known has, the oldest first
}

// refusedHost is a host and what it was refused. It has nothing that the host may choose anew at each try.
type refusedHost struct{ hostID, what string }

// First reports whether a host is refused this for the first time.
func (l *RefusalLog) First(hostID, what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := refusedHost{hostID, what}
	if l.known[refused] {
		return false
	}
	if l.known == nil {
		l.known = map[refusedHost]bool{}
	}
	if len(l.oldest) == maxLoggedRefusals {
		delete(l.known, l.oldest[0])
		l.oldest = l.oldest[1:]
	}
	l.known[refused] = true
	l.oldest = append(l.oldest, refused)
	return true
}

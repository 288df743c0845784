package dispatch

import "sync"

// maxHostSessions is how many sessions one host has with this server at most: the one that it has just opened, and those whose end was not
// noticed yet. Each may hold a message of maxMessage bytes.
const maxHostSessions = 8

// hostSessions counts the sessions of each host. The zero value is ready.
type hostSessions struct {
	mu   sync.Mutex
	open map[string]int // by the id of the host
}

// add counts a session of a host until done; it is not ok when the host has too many.
func (s *hostSessions) add(hostID string) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[hostID] >= maxHostSessions {
		return nil, false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[hostID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[hostID]--; s.open[hostID] == 0 {
			delete(s.open, hostID)
		}
	}, true
}

package httpx

import (
	"net/netip"
	"sync"

	"pinion/packaging/clientnet"
)

// AddressSemaphore is a number of slots, or of bytes, of which the clients of one address get only a part, so that one of them does not keep the
// others out.
type AddressSemaphore struct {
	Size       int64
	PerAddress int64 // 0: Size

	mu        sync.Mutex
	held      int64
	byAddress map[netip.Prefix]int64
}

// TryAcquire takes a slot for a client at remote, the RemoteAddr of its request. release, which may be called more than once, gives
// it back.
func (s *AddressSemaphore) TryAcquire(remote string) (release func(), ok bool) {
	return s.TryAcquireN(remote, 1)
}

// TryAcquireN is TryAcquire for n slots at once.
func (s *AddressSemaphore) TryAcquireN(remote string, n int64) (release func(), ok bool) {
	network := clientnet.Of(remote)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held+n > s.Size || s.PerAddress > 0 && s.byAddress[network]+n > s.PerAddress {
		return nil, false
	}
	if s.byAddress == nil {
		s.byAddress = map[netip.Prefix]int64{}
	}
	s.held += n
	s.byAddress[network] += n
	return sync.OnceFunc(func() { s.release(network, n) }), true
}

func (s *AddressSemaphore) release(network netip.Prefix, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= n
	if s.byAddress[network] -= n; s.byAddress[network] == 0 {
		delete(s.byAddress, network)
	}
}

// Held is how many slots are taken now.
func (s *AddressSemaphore) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

package httpx

import (
	"sync"

	"pinion/packaging/clientnet"
)

// AddressSemaphore is a number of slots, or of bytes, of which the clients of one address get only a part, so that one of them does not keep the
// others out.
type AddressSemaphore struct {
	Size       int64
	PerAddress int64 // 0: Size
	PerTask    int64 // of the part of its host; see TryAcquireTask
	ForRoot    int64 // of Size, those for clients without an address alone: those of root's socket
	Shared     bool  // an address has no more than are free, so that however many one takes, others find some

	slots shares
}

// TryAcquire takes a slot for a client at remote, the RemoteAddr of its request. release, which may be called more than once, gives
// it back.
func (s *AddressSemaphore) TryAcquire(remote string) (release func(), ok bool) {
	return s.TryAcquireN(remote, 1)
}

// TryAcquireN is TryAcquire for n slots at once.
func (s *AddressSemaphore) TryAcquireN(remote string, n int64) (release func(), ok bool) {
	network, size := clientnet.Of(remote), s.Size
	if network.IsValid() {
		size -= s.ForRoot
	}
	return s.slots.take(size, n, share{holder: "address " + network.String(), most: s.PerAddress, shared: s.Shared})
}

// TryAcquireTask takes a slot for a task that asks by the key of its role. It counts for the task, and for the tasks of its host together, which have as
// many as the host itself: what one asks for keeps neither the others nor the host out.
func (s *AddressSemaphore) TryAcquireTask(hostID, task string) (release func(), ok bool) {
	return s.slots.take(s.Size, 1, share{holder: "task " + task, most: s.PerTask}, share{holder: "tasks of host " + hostID, most: s.PerAddress})
}

// Held is how many slots are taken now.
func (s *AddressSemaphore) Held() int64 { return s.slots.taken() }

// HolderSemaphore is a number of slots of which a holder of access keys has no more than are free: one has half of them at most, the next half of what is
// left, and so on.
type HolderSemaphore struct {
	Size int64

	slots shares
}

// TryAcquire takes a slot for a holder. release, which may be called more than once, gives it back.
func (s *HolderSemaphore) TryAcquire(holder string) (release func(), ok bool) {
	return s.slots.take(s.Size, 1, share{holder: holder, shared: true})
}

// HostSemaphore is a HolderSemaphore for requests that concern other hosts, of which those of one host have only a part: one that is silent keeps nobody
// from the others. Of that part, too, a holder has no more than are free.
type HostSemaphore struct {
	Size    int64
	PerHost int64

	slots shares
}

// TryAcquire takes a slot for a holder and a host. release, which may be called more than once, gives it back.
func (s *HostSemaphore) TryAcquire(holder, hostID string) (release func(), ok bool) {
	host := share{holder: "host " + hostID, most: s.PerHost}
	return s.slots.take(s.Size, 1, share{holder: "holder " + holder, shared: true}, host, share{holder: "at host " + hostID + " " + holder, shared: true, of: &host})
}

// shares are slots that are taken, in all and of each holder.
type shares struct {
	mu   sync.Mutex
	held int64
	of   map[string]int64
}

// share is the part of a holder.
type share struct {
	holder string
	most   int64  // 0: all
	shared bool   // no more than are free
	of     *share // of which they are free; nil: of all
}

func (s *shares) take(size, n int64, parts ...share) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.held+n <= size
	for _, p := range parts {
		has := s.of[p.holder] + n
		left := size - s.held
		if p.of != nil {
			left = p.of.most - s.of[p.of.holder]
		}
		free = free && (p.most <= 0 || has <= p.most) && (!p.shared || has <= left)
	}
	if !free {
		return nil, false
	}
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.held += n
	for _, p := range parts {
		s.of[p.holder] += n
	}
	return sync.OnceFunc(func() { s.release(n, parts) }), true
}

func (s *shares) release(n int64, parts []share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= n
	for _, p := range parts {
		if s.of[p.holder] -= n; s.of[p.holder] == 0 {
			delete(s.of, p.holder)
		}
	}
}

func (s *shares) taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

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

	slots slotCounter
}

// TryAcquire takes a slot for a client at remote, the RemoteAddr of its request. release, which may be called more than once, gives
// it back.
func (s *AddressSemaphore) TryAcquire(remote string) (release func(), ok bool) {
	return s.TryAcquireN(remote, 1)
}

// TryAcquireN is TryAcquire for n slots at once.
func (s *AddressSemaphore) TryAcquireN(remote string, n int64) (release func(), ok bool) {
	network, size := clientnet.Prefix(remote), s.Size
	if network.IsValid() {
		size -= s.ForRoot
	}
	return s.slots.take(size, n, slotQuota{name: "address " + network.String(), most: s.PerAddress, shared: s.Shared})
}

// TryAcquireTask takes a slot for a task that asks by the key of its role. It counts for the task, and for the tasks of its host together, which have as
// many as the host itself: what one asks for keeps neither the others nor the host out.
func (s *AddressSemaphore) TryAcquireTask(hostID, task string) (release func(), ok bool) {
	return s.slots.take(s.Size, 1, slotQuota{name: "task " + task, most: s.PerTask}, slotQuota{name: "tasks of host " + hostID, most: s.PerAddress})
}

// Held is how many slots are taken now.
func (s *AddressSemaphore) Held() int64 { return s.slots.taken() }

// OwnerSemaphore bounds concurrent requests. An owner of access keys has at most as many slots as are free: the first at most half of them, the next at
// most half of the rest, and so on.
type OwnerSemaphore struct {
	Size int64

	slots slotCounter
}

// TryAcquire takes a slot for an owner. release, which may be called more than once, gives it back.
func (s *OwnerSemaphore) TryAcquire(owner string) (release func(), ok bool) {
	return s.slots.take(s.Size, 1, slotQuota{name: owner, shared: true})
}

// HostSemaphore is an OwnerSemaphore for requests that concern other hosts, of which those of one host have only a part: one that is silent keeps nobody
// from the others. Of that part, too, an owner has at most as many as are free.
type HostSemaphore struct {
	Size    int64
	PerHost int64

	slots slotCounter
}

// TryAcquire takes a slot for an owner and a host. release, which may be called more than once, gives it back.
func (s *HostSemaphore) TryAcquire(owner, hostID string) (release func(), ok bool) {
	host := slotQuota{name: "host " + hostID, most: s.PerHost}
	return s.slots.take(s.Size, 1, slotQuota{name: "owner " + owner, shared: true}, host, slotQuota{name: "at host " + hostID + " " + owner, shared: true, of: &host})
}

// slotCounter counts the slots that are taken, in all and by each name.
type slotCounter struct {
	mu   sync.Mutex
	held int64
	of   map[string]int64
}

// slotQuota bounds the slots of one name.
type slotQuota struct {
	name   string
	most   int64      // 0: all
	shared bool       // no more than are free
	of     *slotQuota // of which they are free; nil: of all
}

func (s *slotCounter) take(size, n int64, parts ...slotQuota) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.held+n <= size
	for _, p := range parts {
		has := s.of[p.name] + n
		left := size - s.held
		if p.of != nil {
			left = p.of.most - s.of[p.of.name]
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
		s.of[p.name] += n
	}
	return sync.OnceFunc(func() { s.release(n, parts) }), true
}

func (s *slotCounter) release(n int64, parts []slotQuota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= n
	for _, p := range parts {
		if s.of[p.name] -= n; s.of[p.name] == 0 {
			delete(s.of, p.name)
		}
	}
}

func (s *slotCounter) taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

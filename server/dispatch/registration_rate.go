package dispatch

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often a host may describe itself. A description is an entry of the log, up to 64 KiB of it, and a host has a new one when its GPUs or its
// connections change.
const (
	registrationsPerSecond = 1
	registrationBurst      = 10
	maxRegistering         = 10_000 // hosts whose rate is remembered
)

// registrationRate bounds how often hosts describe themselves to the leader. The zero value is ready, and safe for concurrent use.
type registrationRate struct {
	mu    sync.Mutex
	hosts map[string]*rate.Limiter // by id
}

// allow reports whether a host may describe itself now.
func (r *registrationRate) allow(hostID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts[hostID] == nil {
		if r.hosts == nil || len(r.hosts) >= maxRegistering { // none of them is kept from anything by being forgotten
			r.hosts = map[string]*rate.Limiter{}
		}
		r.hosts[hostID] = rate.NewLimiter(registrationsPerSecond, registrationBurst)
	}
	return r.hosts[hostID].AllowN(now, 1)
}

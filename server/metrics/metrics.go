// Package metrics keeps what hosts have measured of tasks lately, in the memory of the leader.
package metrics

import (
	"sync"
	"time"

	"pinion/raftfsm/metric"
)

// Fresh is how old a host's report may be that counts. Hosts report about every 10 s.
const Fresh = 30 * time.Second

// maxWaiting is the most requests that count as waiting in one proxy.
const maxWaiting = 1 << 20

// Key names a measure of a task.
type Key struct {
	TaskID string
	Source metric.Name
}

// Store keeps the last report of each host. It is safe for concurrent use; its zero value is empty.
type Store struct {
	mu      sync.Mutex
	reports map[string]report // by host id
	waiting chan struct{}     // holds one token from when a host reports that requests wait
}

type report struct {
	metric.Report
	at time.Time
}

// NewStore makes an empty store.
func NewStore() *Store {
	return &Store{reports: map[string]report{}, waiting: make(chan struct{}, 1)}
}

// Put takes a host's report in place of the one before. Reports that are not fresh any more are forgotten.
func (s *Store) Put(hostID string, r metric.Report, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, old := range s.reports {
		if !old.fresh(now) {
			delete(s.reports, id)
		}
	}
	s.reports[hostID] = report{r, now}
	if len(r.Waiting) > 0 {
		select {
		case s.waiting <- struct{}{}:
		default:
		}
	}
}

// Waiting receives when a host has reported that requests wait.
func (s *Store) Waiting() <-chan struct{} { return s.waiting }

// Sums are the fresh measures of all tasks, each the sum of what the hosts have reported of it.
type Sums struct {
	Of      map[Key]float64
	Waiting map[string]int  // requests, by target group
	Proxies map[string]bool // ids of the hosts that have told what their proxies send
}

// Sums adds up what is fresh.
func (s *Store) Sums(now time.Time) Sums {
	sums := Sums{map[Key]float64{}, map[string]int{}, map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for hostID, r := range s.reports {
		if !r.fresh(now) {
			continue
		}
		sums.Proxies[hostID] = r.Proxy
		for _, m := range r.Tasks {
			if m.Value >= 0 { // a host may say anything
				sums.Of[Key{m.TaskID, m.Name}] += m.Value
				if m.Group != "" {
					sums.Of[Key{m.TaskID, m.Name.WithPart(m.Group)}] += m.Value
				}
			}
		}
		for _, w := range r.Waiting {
			sums.Waiting[w.Group] += min(max(w.Requests, 0), maxWaiting) // likewise
		}
	}
	return sums
}

func (r report) fresh(now time.Time) bool { return now.Sub(r.at).Abs() <= Fresh }

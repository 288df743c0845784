package measure

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/tick"
	"pinion/raftfsm/metric"
)

// maxAtOnce bounds the tasks that are measured at the same time.
const maxAtOnce = 8

// sampler takes the slow measurements, beside the reports: a task that hangs keeps nothing else from the pool.
type sampler struct {
	*Meter

	mu     sync.Mutex
	wanted []metric.SelectedTask
	found  []metric.Task
	at     time.Time // when that was

	counters map[string]counter // by task and name
}

func newSampler(m *Meter) *sampler { return &sampler{Meter: m, counters: map[string]counter{}} }

// take returns the latest samples, and has the wanted tasks measured from then on.
func (s *sampler) take(wanted []metric.SelectedTask, now time.Time) []metric.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = wanted
	if now.Sub(s.at) > 2*measureInterval {
		return nil
	}
	return slices.Clone(s.found)
}

// run measures every measureInterval until ctx ends. What is not there when the next time comes is not measured.
func (s *sampler) run(ctx context.Context) {
	ticker := tick.New(measureInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		wanted := s.wanted
		s.mu.Unlock()
		sampling, cancel := context.WithTimeout(ctx, measureInterval)
		found := s.sample(sampling, wanted)
		cancel()
		s.mu.Lock()
		s.found, s.at = found, time.Now()
		s.mu.Unlock()
	}
}

// sample measures tasks now.
func (s *sampler) sample(ctx context.Context, wanted []metric.SelectedTask) (found []metric.Task) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(maxAtOnce)
	add := func(task string, name metric.Name, value float64) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, metric.Task{TaskID: task, Name: name, Value: value})
	}
	s.forget(wanted)
	for _, task := range wanted {
		all.Go(func() error {
			s.scrape(ctx, task, add)
			return nil
		})
	}
	all.Wait()
	for _, task := range wanted {
		if busy, ok := s.gpus(task.GPUs, time.Now().Add(-measureInterval)); ok {
			add(task.ID, metric.GPU, busy)
		}
	}
	return found
}

// gpus is the average utilization of some GPUs after a time; not ok when that of one is not known.
func (s *sampler) gpus(uuids []string, after time.Time) (percent float64, ok bool) {
	if s.GPUs == nil || len(uuids) == 0 {
		return 0, false
	}
	for _, uuid := range uuids {
		busy, ok := s.GPUs.Utilization(uuid, after)
		if !ok {
			return 0, false
		}
		percent += busy / float64(len(uuids))
	}
	return percent, true
}

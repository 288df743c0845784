// Package gpuusage keeps how the GPUs of this host were used in the last hour.
package gpuusage

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/gpu"
)

const (
	// Interval is the time between two samples.
	Interval = gpu.UsageInterval
	// Kept is the age at which samples are dropped.
	Kept = time.Hour

	keptSamples = int(Kept / Interval)
	// maxGPUs bounds the GPUs that are known.
	maxGPUs = gpu.MaxDevices
	// recent is the time of gpu.RecentUsage.
	recent = time.Minute
	// stale is the age from which a sample says nothing of now.
	stale = 6 * Interval
)

// Record keeps the samples of a host's GPUs in memory. It is safe for concurrent use.
type Record struct {
	log *slog.Logger

	mu      sync.Mutex
	at      time.Time // of the last sample; zero: there is none
	problem string    // why there is none since
	gpus    map[string]*series
	said    map[string]bool // of which GPUs it was said that their driver tells what cannot be
}

// New returns a record without samples.
func New(log *slog.Logger) *Record {
	return &Record{log: log, gpus: map[string]*series{}, said: map[string]bool{}}
}

// Add records a sample of the devices, and returns what is recorded by UUID. What is implausible, or of no device, is left out.
func (r *Record) Add(at time.Time, usages []gpu.Usage, devices []gpu.Device) map[string]gpu.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.problem = at, ""
	known, added := map[string]*series{}, map[string]gpu.Usage{}
	for i := range devices[:min(len(devices), maxGPUs)] {
		d := &devices[i]
		s := r.gpus[d.UUID]
		if n := slices.IndexFunc(usages, func(u gpu.Usage) bool { return u.UUID == d.UUID }); n >= 0 {
			usage, implausible := usages[n].DropImplausible(d)
			r.doubt(d, implausible)
			if s == nil {
				s = &series{}
			}
			s.add(at, &usage)
			added[d.UUID] = usage
		}
		if s != nil {
			known[d.UUID] = s
		}
	}
	r.gpus = known
	return added
}

// doubt logs once of a GPU that its driver reports impossible values.
func (r *Record) doubt(d *gpu.Device, implausible []string) {
	if len(implausible) == 0 {
		delete(r.said, d.UUID)
		return
	}
	if !r.said[d.UUID] {
		r.said[d.UUID] = true
		r.log.Warn("the driver reported impossible usage values for a GPU: they are dropped", "gpu", d.UUID, "values", strings.Join(implausible, ", "))
	}
}

// Fail records why there is no sample.
func (r *Record) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = err.Error()
}

// Latest is the usage of the GPUs in the last sample; nothing when that is old.
func (r *Record) Latest(now time.Time) gpu.LatestUsage {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := gpu.LatestUsage{At: r.at, Problem: r.problem, GPUs: []gpu.RecentUsage{}}
	if !r.at.IsZero() && now.Sub(r.at) > stale {
		if n.Problem == "" {
			n.Problem = "the driver has not answered since " + r.at.UTC().Format(time.RFC3339)
		}
		return n
	}
	for uuid, s := range r.gpus {
		if last := s.last(); last.at.Equal(r.at) {
			g := gpu.RecentUsage{Usage: last.usage(uuid)}
			for p := range s.since(r.at.Add(-recent)) {
				if v := p.values[utilization]; !math.IsNaN(float64(v)) {
					g.Recent = append(g.Recent, float64(v))
				}
			}
			n.GPUs = append(n.GPUs, g)
		}
	}
	slices.SortFunc(n.GPUs, func(a, b gpu.RecentUsage) int { return strings.Compare(a.UUID, b.UUID) })
	return n
}

// Samples are the samples of a GPU after a time, the oldest first; none when the GPU is not known.
func (r *Record) Samples(uuid string, after time.Time) []gpu.UsageSample {
	r.mu.Lock()
	defer r.mu.Unlock()
	samples := []gpu.UsageSample{}
	if s := r.gpus[uuid]; s != nil {
		for p := range s.since(after) {
			samples = append(samples, gpu.UsageSample{At: p.at, Usage: p.usage(uuid)})
		}
	}
	return samples
}

// Utilization is the average of a GPU after a time, in percent; not ok when it is not known.
func (r *Record) Utilization(uuid string, after time.Time) (percent float64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.gpus[uuid]
	if s == nil {
		return 0, false
	}
	n := 0
	for p := range s.since(after) {
		if v := float64(p.values[utilization]); !math.IsNaN(v) {
			percent, n = percent+v, n+1
		}
	}
	return percent / float64(max(n, 1)), n > 0
}

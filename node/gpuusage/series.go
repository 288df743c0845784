package gpuusage

import (
	"iter"
	"math"
	"slices"
	"time"

	"pinion/gpu"
)

// The values of a point. Hundreds of points are kept of each GPU, so they are small and without pointers.
const (
	utilization = iota
	memory
	power
	temperature
	clock
	pcieReceived
	pcieSent
	nvlinkReceived
	nvlinkSent
	smActivity
	valueCount
)

// point is a sample; a value that is not known is no number.
type point struct {
	at     time.Time
	values [valueCount]float32
	slow   uint8 // the place of the reason in gpu.Slowdowns, from 1; 0: none
}

// members are the members of a usage in the order of the values.
func members(u *gpu.Usage) [valueCount]**float64 {
	return [valueCount]**float64{&u.Utilization, &u.MemoryUsedMiB, &u.PowerWatts, &u.Celsius, &u.ClockMHz, &u.PCIeReceived, &u.PCIeSent, &u.NVLinkReceived, &u.NVLinkSent, &u.SMActivity}
}

func (p *point) usage(uuid string) gpu.Usage {
	u := gpu.Usage{UUID: uuid}
	for i, member := range members(&u) {
		if v := float64(p.values[i]); !math.IsNaN(v) {
			*member = &v
		}
	}
	if p.slow > 0 {
		u.Slowdown = gpu.Slowdowns()[p.slow-1]
	}
	return u
}

// series is a ring of the points of a GPU.
type series struct {
	points []point
	next   int // where the next one goes once the ring is full
}

func (s *series) add(at time.Time, u *gpu.Usage) {
	p := point{at: at, slow: uint8(slices.Index(gpu.Slowdowns(), u.Slowdown) + 1)}
	for i, member := range members(u) {
		p.values[i] = float32(math.NaN())
		if *member != nil {
			p.values[i] = float32(**member)
		}
	}
	if len(s.points) < keptSamples {
		s.points = append(s.points, p)
		return
	}
	s.points[s.next] = p
	s.next = (s.next + 1) % keptSamples
}

// last is the newest point. There is one.
func (s *series) last() *point {
	return &s.points[(s.next+len(s.points)-1)%len(s.points)]
}

// since are the points after a time, the oldest first.
func (s *series) since(after time.Time) iter.Seq[*point] {
	return func(yield func(*point) bool) {
		for i := range s.points {
			if p := &s.points[(s.next+i)%len(s.points)]; p.at.After(after) && !yield(p) {
				return
			}
		}
	}
}

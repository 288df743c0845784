package schedule

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// workloadProfile is which shapes of GPU tasks a cluster has: those that have a place, and those that wait for one. It follows
// from the tasks alone, so whoever sees the same tasks learns the same.
type workloadProfile struct {
	shapes  []shapeCount // by shape
	tasks   int
	changed bool // since outlook was made
	current *pack.FragmentationScorer
	buckets []byte // that it was made of
	buffer  []byte
	scorers map[string]*pack.FragmentationScorer // by weights
}

// shapeCount is a shape and how many tasks have it.
type shapeCount struct {
	pack.Shape
	tasks int
}

// profileBuckets is the number of parts in which all tasks together are counted. A coarse count changes rarely, and with it what
// every host is worth.
const profileBuckets = 32

// maxScorers is how many are remembered: counts that go to and fro come to the same few again and again.
const maxScorers = 16

// shapeOf is the shape of a task that takes so much of a host.
func shapeOf(d spec.Demand) pack.Shape {
	s := pack.Shape{CPU: d.CPU, GPUs: d.TotalGPUs()}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// shapeOfTask is the shape of a task that has a place.
func shapeOfTask(t *spec.Task) pack.Shape {
	s := pack.Shape{CPU: t.CPU}
	for i := range t.Containers {
		s.GPUs += len(t.Containers[i].GPUs)
	}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// add counts so many tasks more, or less, of a shape.
func (p *workloadProfile) add(s pack.Shape, tasks int) {
	if s.GPUs == 0 {
		return
	}
	at, known := slices.BinarySearchFunc(p.shapes, s, func(c shapeCount, s pack.Shape) int {
		return cmp.Or(cmp.Compare(c.GPUs, s.GPUs), cmp.Compare(c.CPU, s.CPU))
	})
	if !known {
		p.shapes = slices.Insert(p.shapes, at, shapeCount{Shape: s})
	}
	p.shapes[at].tasks += tasks
	if p.shapes[at].tasks == 0 {
		p.shapes = slices.Delete(p.shapes, at, at+1)
	}
	p.tasks += tasks
	p.changed = true
}

// scorer is the outlook from the tasks there are. As long as their coarse counts are the same it is the same one.
func (p *workloadProfile) scorer() *pack.FragmentationScorer {
	if p.current != nil && !p.changed {
		return p.current
	}
	p.changed = false
	p.buffer = p.appendBuckets(p.buffer[:0])
	if p.current != nil && bytes.Equal(p.buffer, p.buckets) {
		return p.current
	}
	p.buckets = append(p.buckets[:0], p.buffer...)
	if p.current = p.scorers[string(p.buckets)]; p.current != nil {
		return p.current
	}
	if p.scorers == nil || len(p.scorers) == maxScorers {
		p.scorers = map[string]*pack.FragmentationScorer{}
	}
	p.current = pack.NewFragmentationScorer(p.quantized())
	p.scorers[string(p.buckets)] = p.current
	return p.current
}

// bucketsOf is how many of the finest parts of all tasks the shape stands for.
func (p *workloadProfile) bucketsOf(c shapeCount) int {
	return (c.tasks*profileBuckets + p.tasks/2) / p.tasks
}

// quantized are the shapes that stand for a part at least.
func (p *workloadProfile) quantized() map[pack.Shape]int {
	parts := map[pack.Shape]int{}
	for _, c := range p.shapes {
		if part := p.bucketsOf(c); part > 0 {
			parts[c.Shape] = part
		}
	}
	return parts
}

// appendBuckets appends the coarse count, in a form that differs when the count does.
func (p *workloadProfile) appendBuckets(to []byte) []byte {
	for _, c := range p.shapes {
		if part := p.bucketsOf(c); part > 0 {
			to = binary.AppendVarint(to, int64(c.GPUs))
			to = binary.AppendVarint(to, c.CPU)
			to = binary.AppendVarint(to, int64(part))
		}
	}
	return to
}

package schedule

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// popularity is which shapes of GPU tasks a cluster has: those that have a place, and those that wait for one. It follows
// from the tasks alone, so whoever sees the same tasks learns the same.
type popularity struct {
	shapes  []counted // by shape
	tasks   int
	changed bool // since outlook was made
	outlook *pack.Outlook
	weights []byte // that it was made of
	buffer  []byte
	known   map[string]*pack.Outlook // by weights
}

// counted is a shape and how many tasks have it.
type counted struct {
	pack.Shape
	tasks int
}

// finest is the number of parts in which all tasks together are counted. A coarse count changes rarely, and with it what
// every host is worth.
const finest = 32

// mostOutlooks is how many are remembered: counts that go to and fro come to the same few again and again.
const mostOutlooks = 16

// shapeOf is the shape of a task that takes so much of a host.
func shapeOf(d spec.Demand) pack.Shape {
	s := pack.Shape{CPU: d.CPU, GPUs: d.AllGPUs()}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// shapeHeld is the shape of a task that has a place.
func shapeHeld(t *spec.Task) pack.Shape {
	s := pack.Shape{CPU: t.CPU}
	for i := range t.Containers {
		s.GPUs += len(t.Containers[i].GPUs)
	}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// note counts so many tasks more, or less, of a shape.
func (p *popularity) note(s pack.Shape, tasks int) {
	if s.GPUs == 0 {
		return
	}
	at, known := slices.BinarySearchFunc(p.shapes, s, func(c counted, s pack.Shape) int {
		return cmp.Or(cmp.Compare(c.GPUs, s.GPUs), cmp.Compare(c.CPU, s.CPU))
	})
	if !known {
		p.shapes = slices.Insert(p.shapes, at, counted{Shape: s})
	}
	p.shapes[at].tasks += tasks
	if p.shapes[at].tasks == 0 {
		p.shapes = slices.Delete(p.shapes, at, at+1)
	}
	p.tasks += tasks
	p.changed = true
}

// now is the outlook from the tasks there are. As long as their coarse counts are the same it is the same one.
func (p *popularity) now() *pack.Outlook {
	if p.outlook != nil && !p.changed {
		return p.outlook
	}
	p.changed = false
	p.buffer = p.weigh(p.buffer[:0])
	if p.outlook != nil && bytes.Equal(p.buffer, p.weights) {
		return p.outlook
	}
	p.weights = append(p.weights[:0], p.buffer...)
	if p.outlook = p.known[string(p.weights)]; p.outlook != nil {
		return p.outlook
	}
	if p.known == nil || len(p.known) == mostOutlooks {
		p.known = map[string]*pack.Outlook{}
	}
	p.outlook = pack.NewOutlook(p.coarse())
	p.known[string(p.weights)] = p.outlook
	return p.outlook
}

// part is how many of the finest parts of all tasks the shape stands for.
func (p *popularity) part(c counted) int { return (c.tasks*finest + p.tasks/2) / p.tasks }

// coarse are the shapes that stand for a part at least.
func (p *popularity) coarse() map[pack.Shape]int {
	parts := map[pack.Shape]int{}
	for _, c := range p.shapes {
		if part := p.part(c); part > 0 {
			parts[c.Shape] = part
		}
	}
	return parts
}

// weigh appends the coarse count, in a form that differs when the count does.
func (p *popularity) weigh(to []byte) []byte {
	for _, c := range p.shapes {
		if part := p.part(c); part > 0 {
			to = binary.AppendVarint(to, int64(c.GPUs))
			to = binary.AppendVarint(to, c.CPU)
			to = binary.AppendVarint(to, int64(part))
		}
	}
	return to
}

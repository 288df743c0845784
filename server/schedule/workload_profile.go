package schedule

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// workloadProfile counts the GPU tasks of a cluster by shape, placed and pending. It is derived from the tasks alone, so a
// new leader computes the same profile as the previous one.
type workloadProfile struct {
	shapes  []shapeCount // by shape
	tasks   int
	changed bool // since current was made
	current *pack.FragmentationScorer
	buckets []byte // that current was made of
	buffer  []byte
	scorers map[string]*pack.FragmentationScorer // by buckets
}

// shapeCount is a shape and the number of tasks that have it.
type shapeCount struct {
	pack.Shape
	tasks int
}

// profileBuckets is the resolution of the profile: a shape counts in 1/32ths of all tasks. A coarse profile changes rarely,
// and every change of it invalidates all rankings.
const profileBuckets = 32

// maxScorers bounds the cached scorers. An oscillating workload returns to the same few profiles.
const maxScorers = 16

// shapeOf returns the shape of a demand. A share of a GPU is no part of it.
func shapeOf(d spec.Demand) pack.Shape {
	s := pack.Shape{CPU: d.CPU, GPUs: d.TotalGPUs()}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// shapeOfTask returns the shape of a placed task.
func shapeOfTask(t *spec.Task) pack.Shape {
	s := pack.Shape{CPU: t.CPU}
	for i := range t.Containers {
		if t.Containers[i].Share == nil && t.Containers[i].MIGMilli == 0 { // others take no whole GPU
			s.GPUs += len(t.Containers[i].GPUs)
		}
	}
	if s.GPUs > 0 {
		s.Milli = pack.Whole
	}
	return s
}

// add changes the number of tasks of a shape; tasks may be negative. Shapes without GPUs are not counted.
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

// scorer returns the fragmentation scorer for the current profile. It is the same object while the buckets stay the same.
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

// bucketsOf returns the share of a shape in profileBuckets-ths of all tasks, rounded.
func (p *workloadProfile) bucketsOf(c shapeCount) int {
	return (c.tasks*profileBuckets + p.tasks/2) / p.tasks
}

// quantized returns the shapes with at least one bucket, and their buckets.
func (p *workloadProfile) quantized() map[pack.Shape]int {
	parts := map[pack.Shape]int{}
	for _, c := range p.shapes {
		if part := p.bucketsOf(c); part > 0 {
			parts[c.Shape] = part
		}
	}
	return parts
}

// appendBuckets appends an encoding of the buckets that differs when the buckets do.
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

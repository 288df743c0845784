package pack

import "strings"

// Whole is a whole GPU in thousandths.
const Whole = 1000

// Shape is what a task asks for. Two tasks of the same shape are the same to every policy.
type Shape struct {
	CPU       int64 // thousandths of a core
	MemoryMiB int64
	GPUs      int    // 0 for a task without GPUs
	Milli     int    // of each GPU, 1 to Whole; 0 without GPUs; more than one GPU is asked for only whole
	Models    string // the GPU models that will do, "A|B"; empty: any
}

// GPUMilli is what the task takes of all GPUs together, in thousandths.
func (s Shape) GPUMilli() int { return s.GPUs * s.Milli }

// Shares reports whether the task takes a part of one GPU.
func (s Shape) Shares() bool { return s.GPUs == 1 && s.Milli < Whole }

// Accepts reports whether the task can run on GPUs of this model.
func (s Shape) Accepts(model string) bool {
	if s.Models == "" || s.GPUs == 0 {
		return true
	}
	for rest := s.Models; rest != ""; {
		var one string
		if one, rest, _ = strings.Cut(rest, "|"); one == model {
			return true
		}
	}
	return false
}

// Host is a host and what is free on it. A Packer that it was given to is the only one to change it.
type Host struct {
	CPU       int64 // free, thousandths of a core
	MemoryMiB int64 // free
	Free      []int // of each GPU, 0 to Whole
	Model     string

	tasks [kinds]int // that run here, by kind
}

// kinds are the kinds of GPU tasks that clustering keeps apart: a share, or so many whole GPUs; the last one is also
// for all that want more.
const kinds = 17

// kind of the shape, which asks for GPUs.
func kind(s *Shape) int {
	if s.Shares() {
		return 0
	}
	return min(s.GPUs, kinds-1)
}

// Fits reports whether the task can run on what is free.
func (h *Host) Fits(s *Shape) bool {
	return h.CPU >= s.CPU && h.MemoryMiB >= s.MemoryMiB && s.Accepts(h.Model) && h.with(s.Milli) >= s.GPUs
}

// with counts the GPUs that have at least so much free.
func (h *Host) with(milli int) int {
	n := 0
	for _, free := range h.Free {
		if free >= milli {
			n++
		}
	}
	return n
}

// Idle is what is free of all GPUs together, in thousandths.
func (h *Host) Idle() int {
	sum := 0
	for _, free := range h.Free {
		sum += free
	}
	return sum
}

// take gives the task what it asks for: its share of one GPU, or the first GPUs that are whole.
func (h *Host) take(s *Shape, gpu int) []int {
	h.CPU -= s.CPU
	h.MemoryMiB -= s.MemoryMiB
	if s.GPUs == 0 {
		return nil
	}
	h.tasks[kind(s)]++
	if s.Shares() {
		h.Free[gpu] -= s.Milli
		return []int{gpu}
	}
	given := make([]int, 0, s.GPUs)
	for i, free := range h.Free {
		if free == Whole && len(given) < s.GPUs {
			h.Free[i] = 0
			given = append(given, i)
		}
	}
	return given
}

// release takes back what take gave.
func (h *Host) release(s *Shape, gpus []int) {
	h.CPU += s.CPU
	h.MemoryMiB += s.MemoryMiB
	if s.GPUs > 0 {
		h.tasks[kind(s)]--
	}
	for _, gpu := range gpus {
		h.Free[gpu] += s.Milli
	}
}

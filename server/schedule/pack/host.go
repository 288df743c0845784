package pack

import "strings"

// Whole is a whole GPU in thousandths.
const Whole = 1000

// Shape is the demand of a task. Policies treat two tasks of the same shape alike.
type Shape struct {
	CPU       int64 // thousandths of a core
	MemoryMiB int64
	GPUs      int    // 0 for a task without GPUs
	Milli     int    // of each GPU, 1 to Whole; 0 without GPUs; more than one GPU is asked for only whole
	Models    string // the GPU models that will do, "A|B"; empty: any
}

// GPUMilli is the task's demand over all its GPUs, in thousandths of a GPU.
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

// Host is a host with its free resources. After NewPacker only the Packer changes it.
type Host struct {
	CPU       int64 // free, thousandths of a core
	MemoryMiB int64 // free
	Free      []int // of each GPU, 0 to Whole
	Model     string

	tasks [kinds]int // that run here, by kind
}

// kinds is the number of GPU task kinds that clustering distinguishes: a share, or a number of whole GPUs; the last kind
// includes all larger numbers.
const kinds = 17

// kind returns the kind of a shape with GPUs.
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

// Idle returns the free capacity of all GPUs together, in thousandths of a GPU.
func (h *Host) Idle() int {
	sum := 0
	for _, free := range h.Free {
		sum += free
	}
	return sum
}

// take allocates the task's demand: its share of one GPU, or the first whole GPUs.
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

// release releases what take allocated.
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

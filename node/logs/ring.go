package logs

import (
	"pinion/raftfsm/spec"
)

// ring keeps the last size lines put into it.
type ring struct {
	size  int
	lines []spec.LogLine
	next  int // the oldest, once the ring is full
}

func (r *ring) add(line spec.LogLine) error {
	if len(r.lines) < r.size {
		r.lines = append(r.lines, line)
		return nil
	}
	r.lines[r.next] = line
	r.next = (r.next + 1) % r.size
	return nil
}

// each hands out the lines, oldest first.
func (r *ring) each(emit func(spec.LogLine) error) error {
	for i := range r.lines {
		if err := emit(r.lines[(r.next+i)%len(r.lines)]); err != nil {
			return err
		}
	}
	return nil
}

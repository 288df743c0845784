package cloudwatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"pinion/api/wire"
)

const (
	readersAtOnce = 16
	// maxScanned is how many lines are looked at for one answer, so that a search that finds little answers in time.
	maxScanned = 200_000
)

// search finds the first lines of several streams that match, in the order of lines. What one answer has no room or no time
// for begins at cut; there the next one goes on. Several readers share it.
type search struct {
	span    span
	begin   line // where to go on; its zero value: at the beginning of the span
	pattern pattern

	mu     sync.Mutex
	page   page  // in no order
	cut    *line // the first line that is left out; nil: none is
	missed []searchedStream
	silent map[string]error // hosts that cannot tell, by id
}

// run reads the streams. An error only when none of them could be read.
func (s *search) run(ctx context.Context, c *Call, streams []stream) error {
	s.silent = map[string]error{}
	perStream := maxScanned / max(1, len(streams))
	var readers errgroup.Group
	readers.SetLimit(readersAtOnce)
	for _, from := range streams {
		readers.Go(func() error { s.read(ctx, c, from, perStream); return nil })
	}
	_ = readers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(s.silent)) {
		problems = append(problems, s.silent[id])
		c.warn("The streams of host %s are missing in this answer: %v", id, s.silent[id])
	}
	if len(s.missed) > 0 && len(s.missed) == len(streams) {
		return wire.Errorf(Unavailable, "No log stream can be read now: %v. Try again.", errors.Join(problems...))
	}
	return nil
}

// read offers the lines of one stream until they are beyond what the answer has room for, or most were looked at.
func (s *search) read(ctx context.Context, c *Call, from stream, most int) {
	if s.isSilent(from) {
		return
	}
	in := s.span
	if s.begin.at.After(in.from.at) {
		in.from = place{at: s.begin.at}
	}
	looked := 0
	err := c.read(ctx, from, in, 0, func(l line) error {
		if l.compare(s.begin) < 0 {
			return nil
		}
		if looked++; looked > most {
			s.leave(l)
			return errEnough
		}
		return s.offer(l)
	})
	if err != nil {
		s.miss(from, err)
	}
}

// offer puts a line into the answer when it matches and belongs there.
func (s *search) offer(l line) error {
	matches := l.text != "" && s.pattern.matches(l.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut != nil && l.compare(*s.cut) >= 0 {
		return errEnough
	}
	if !matches {
		return nil
	}
	s.page.push(l)
	for s.page.full() {
		last := s.page.pop()
		s.cut = &last
	}
	return nil
}

// leave makes the answer end before a line.
func (s *search) leave(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut != nil && l.compare(*s.cut) >= 0 {
		return
	}
	s.cut = &l
	for len(s.page.lines) > 0 && s.page.lines[0].compare(l) >= 0 {
		s.page.pop()
	}
}

func (s *search) isSilent(from stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent[from.task.HostID] == nil {
		return false
	}
	s.missed = append(s.missed, searchedStream{LogStreamName: from.name})
	return true
}

func (s *search) miss(from stream, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent[from.task.HostID] = err
	s.missed = append(s.missed, searchedStream{LogStreamName: from.name})
}

func (s *search) answer() *filterLogEventsOutput {
	slices.SortFunc(s.page.lines, line.compare)
	out := &filterLogEventsOutput{Events: []filteredEvent{}, SearchedLogStreams: append([]searchedStream{}, s.missed...)}
	for _, l := range s.page.lines {
		out.Events = append(out.Events, filteredEvent{l.stream, outputEvent{l.at.UnixMilli(), l.text, l.at.UnixMilli()}, l.id()})
	}
	return out
}

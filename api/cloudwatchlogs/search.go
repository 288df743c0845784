package cloudwatchlogs

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
	maxReaders = 16
	// maxScanned is how many lines are read for one response, so that a search with few matches responds in time.
	maxScanned = 200_000
)

// search finds the first matching lines of several streams, by time. One response ends before truncatedAt, where the next one
// continues. Several readers share it.
type search struct {
	interval interval
	resumeAt line // where to go on; its zero value: at the beginning of the span
	pattern  pattern

	mu          sync.Mutex
	page        page  // in no order
	truncatedAt *line // the first line that is left out; nil: none is
	skipped     []searchedStream
	unreachable map[string]error // hosts that cannot tell, by id
}

// run reads the streams. It fails only when none of them could be read.
func (s *search) run(ctx context.Context, c *Request, streams []stream) error {
	s.unreachable = map[string]error{}
	perStream := maxScanned / max(1, len(streams))
	var readers errgroup.Group
	readers.SetLimit(maxReaders)
	for _, from := range streams {
		readers.Go(func() error { s.read(ctx, c, from, perStream); return nil })
	}
	_ = readers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(s.unreachable)) {
		problems = append(problems, s.unreachable[id])
		c.warn("The streams of host %s are missing in this answer: %v", id, s.unreachable[id])
	}
	if len(s.skipped) > 0 && len(s.skipped) == len(streams) {
		return wire.Errorf(Unavailable, "No log stream can be read now: %v. Try again.", errors.Join(problems...))
	}
	return nil
}

// read adds the lines of one stream until they are beyond the end of the response, or maxLines were scanned.
func (s *search) read(ctx context.Context, c *Request, from stream, maxLines int) {
	if s.skipUnreachable(from) {
		return
	}
	in := s.interval
	if s.resumeAt.at.After(in.from.at) {
		in.from = position{at: s.resumeAt.at}
	}
	scanned := 0
	err := c.read(ctx, from, in, 0, func(l line) error {
		if l.compare(s.resumeAt) < 0 {
			return nil
		}
		if scanned++; scanned > maxLines {
			s.truncateAt(l)
			return errStop
		}
		return s.add(l)
	})
	if err != nil {
		s.recordUnreachable(from, err)
	}
}

// add adds a line to the response when it matches and is before its end.
func (s *search) add(l line) error {
	matches := l.text != "" && s.pattern.matches(l.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.truncatedAt != nil && l.compare(*s.truncatedAt) >= 0 {
		return errStop
	}
	if !matches {
		return nil
	}
	s.page.push(l)
	for s.page.full() {
		last := s.page.pop()
		s.truncatedAt = &last
	}
	return nil
}

// truncateAt ends the response before a line.
func (s *search) truncateAt(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.truncatedAt != nil && l.compare(*s.truncatedAt) >= 0 {
		return
	}
	s.truncatedAt = &l
	for len(s.page.lines) > 0 && s.page.lines[0].compare(l) >= 0 {
		s.page.pop()
	}
}

func (s *search) skipUnreachable(from stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreachable[from.task.HostID] == nil {
		return false
	}
	s.skipped = append(s.skipped, searchedStream{LogStreamName: from.name})
	return true
}

func (s *search) recordUnreachable(from stream, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable[from.task.HostID] = err
	s.skipped = append(s.skipped, searchedStream{LogStreamName: from.name})
}

func (s *search) output() *filterLogEventsOutput {
	slices.SortFunc(s.page.lines, line.compare)
	out := &filterLogEventsOutput{Events: []filteredEvent{}, SearchedLogStreams: append([]searchedStream{}, s.skipped...)}
	for _, l := range s.page.lines {
		out.Events = append(out.Events, filteredEvent{l.stream, outputEvent{l.at.UnixMilli(), l.text, l.at.UnixMilli()}, l.id()})
	}
	return out
}

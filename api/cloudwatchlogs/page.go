package cloudwatchlogs

import "container/heap"

// page collects lines within the limits of one response. An empty line is no event, as with AWS's log driver.
type page struct {
	limit int
	lines []line
	bytes int
}

func (p *page) full() bool {
	return len(p.lines) > p.limit || p.bytes > maxBytes && len(p.lines) > 1
}

// append adds lines until the page is full; then it returns errStop.
func (p *page) append(l line) error {
	if l.text == "" {
		return nil
	}
	p.lines, p.bytes = append(p.lines, l), p.bytes+l.size()
	if p.full() {
		p.lines = p.lines[:len(p.lines)-1]
		return errStop
	}
	return nil
}

// keepLast adds every line, and drops the first ones of a full page.
func (p *page) keepLast(l line) error {
	if l.text == "" {
		return nil
	}
	p.lines, p.bytes = append(p.lines, l), p.bytes+l.size()
	for p.full() {
		p.bytes -= p.lines[0].size()
		p.lines = p.lines[1:]
	}
	return nil
}

// latestFirst makes the lines of a page a max-heap by time: the root is the first line to be dropped.
type latestFirst struct{ *page }

func (h latestFirst) Len() int           { return len(h.lines) }
func (h latestFirst) Less(i, j int) bool { return h.lines[i].compare(h.lines[j]) > 0 }
func (h latestFirst) Swap(i, j int)      { h.lines[i], h.lines[j] = h.lines[j], h.lines[i] }
func (h latestFirst) Push(l any)         { h.lines = append(h.lines, l.(line)) }

func (h latestFirst) Pop() any {
	last := h.lines[len(h.lines)-1]
	h.lines = h.lines[:len(h.lines)-1]
	return last
}

// push adds a line to a page that is a heap.
func (p *page) push(l line) {
	heap.Push(latestFirst{p}, l)
	p.bytes += l.size()
}

// pop removes the latest line.
func (p *page) pop() line {
	l := heap.Pop(latestFirst{p}).(line)
	p.bytes -= l.size()
	return l
}

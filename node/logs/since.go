package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// linearScanMax is how close to the wanted line a search ends; from there on lines are simply read.
const linearScanMax = 64 << 10

// sinceOffset finds where a line begins, at most so far before the first one that was written at since or later: what stands
// before it is older. Lines are in the order of time, as one logger writes them.
func sinceOffset(f io.ReaderAt, size int64, since time.Time) (int64, error) {
	low, high := int64(0), size
	for high-low > linearScanMax {
		middle := low + (high-low)/2
		begin, at, err := lineAfter(f, middle, high)
		switch {
		case err != nil:
			return 0, err
		case begin < high && at.Before(since):
			low = begin
		default:
			high = middle
		}
	}
	return low, nil
}

// lineAfter finds the first line with a time stamp that begins after an offset and before end; it returns end when there is
// none.
func lineAfter(f io.ReaderAt, offset, end int64) (begin int64, at time.Time, err error) {
	in := bufio.NewReader(io.NewSectionReader(f, offset, end-offset))
	begin = offset
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return end, at, nil
		}
		if err != nil {
			return end, at, err
		}
		if !first { // that one began before
			if at, err = timestampOf(line); err == nil {
				return begin, at, nil
			}
		}
		begin += int64(len(line))
	}
}

var errNoTimestamp = errors.New("no record")

// timestampOf reads the time of a record without the rest of it.
func timestampOf(line []byte) (time.Time, error) {
	rest, found := bytes.CutPrefix(line, []byte(`{"time":"`))
	text, _, closed := bytes.Cut(rest, []byte(`"`))
	if !found || !closed {
		return time.Time{}, errNoTimestamp
	}
	return time.Parse(time.RFC3339Nano, string(text))
}

package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// linearScanMax is the range at which the binary search stops; the rest is read line by line.
const linearScanMax = 64 << 10

// sinceOffset returns the offset of a line shortly before the first line at since or later; every line before the offset is
// older. It is a binary search: the lines of one logger are ordered by time.
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

// lineAfter finds the first line with a timestamp that begins after an offset and before end; it returns end when there is
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
		if !first { // the first line began before the offset
			if at, err = timestampOf(line); err == nil {
				return begin, at, nil
			}
		}
		begin += int64(len(line))
	}
}

var errNoTimestamp = errors.New("no record")

// timestampOf decodes only the time of a record.
func timestampOf(line []byte) (time.Time, error) {
	rest, found := bytes.CutPrefix(line, []byte(`{"time":"`))
	text, _, closed := bytes.Cut(rest, []byte(`"`))
	if !found || !closed {
		return time.Time{}, errNoTimestamp
	}
	return time.Parse(time.RFC3339Nano, string(text))
}

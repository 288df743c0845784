package logs

import (
	"bufio"
	"io"
	"time"

	"pinion/node/logs/record"
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
			if at, known := record.Time(line); known {
				return begin, at, nil
			}
		}
		begin += int64(len(line))
	}
}

package logs

import (
	"io"
	"os"

	"pinion/node/logs/record"
)

// seekTail moves to the last n lines of the log: to their first one, in whichever file it is.
func (c *cursor) seekTail(n int) error {
	for n > 0 {
		f, err := c.openOlder()
		if f == nil || err != nil {
			return err
		}
		c.close()
		c.setFile(f)
		offset, missing, err := tailOffset(f, n)
		if err != nil {
			return err
		}
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return err
		}
		n = missing
	}
	return nil
}

// tailOffset returns the offset of the last n lines of a file; it reads backwards. missing is the number of lines that the file
// has too few; the offset is then 0. Torn lines do not count.
func tailOffset(f *os.File, n int) (offset int64, missing int, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, n, err
	}
	lines := newReverse(f, info.Size())
	for n > 0 {
		at, line, err := lines.line()
		if err == io.EOF {
			return 0, n, nil
		}
		if err != nil {
			return 0, n, err
		}
		if record.IsWhole(line) {
			offset, n = at, n-1
		}
	}
	return offset, 0, nil
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

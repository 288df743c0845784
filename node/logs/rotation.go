package logs

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
)

// rotation is one file of a container's log as it was found.
type rotation struct {
	index int // 0 is the current file, 1 the youngest rotated one
	info  os.FileInfo
}

// name is the file name of a rotation; 0 is the current file.
func (c *cursor) name(index int) string {
	if index == 0 {
		return c.container + ".log"
	}
	return c.container + ".log." + strconv.Itoa(index)
}

// rotations lists the files, youngest first. During a rotation one number is missing for a moment, and a file that is renamed
// meanwhile may be listed twice; none is passed over, because numbers only grow.
func (c *cursor) rotations() (all []rotation) {
	for index, missing := 0, 0; missing < 2; index++ {
		info, err := c.task.Stat(c.name(index))
		if err != nil {
			missing++
			continue
		}
		missing = 0
		if n := len(all); n == 0 || !os.SameFile(all[n-1].info, info) {
			all = append(all, rotation{index, info})
		}
	}
	return all
}

// younger is the next younger file than mine, or the oldest file when mine was removed or is nil; nil when mine is the
// youngest.
func younger(all []rotation, mine os.FileInfo) *rotation {
	at := indexOf(all, mine)
	if at < 0 {
		at = len(all)
	}
	if at == 0 {
		return nil
	}
	return &all[at-1]
}

// older is the next older file than mine, or the youngest file when mine is nil; nil when there is none.
func older(all []rotation, mine os.FileInfo) *rotation {
	at := indexOf(all, mine) + 1
	if mine != nil && at == 0 || at == len(all) {
		return nil
	}
	return &all[at]
}

func indexOf(all []rotation, mine os.FileInfo) int {
	return slices.IndexFunc(all, func(r rotation) bool { return mine != nil && os.SameFile(mine, r.info) })
}

// open opens a file that was found, unless it has another name by now; then it is nil.
func (c *cursor) open(r *rotation) (*os.File, error) {
	f, err := c.task.Open(c.name(r.index))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, r.info) {
		f.Close()
		return nil, err
	}
	return f, nil
}

// maxRotationRetries bounds how often a reader looks again because the files were rotated while it looked.
const maxRotationRetries = 1000

var errRotates = errors.New("its files rotate faster than they can be read; give the container a larger max-size")

// openOlder opens the next older file than the current one, the youngest when there is none yet; nil when there is none.
func (c *cursor) openOlder() (*os.File, error) {
	mine, err := c.stat()
	if err != nil {
		return nil, err
	}
	for range maxRotationRetries {
		next := older(c.rotations(), mine)
		if next == nil {
			return nil, nil
		}
		if f, err := c.open(next); f != nil || err != nil {
			return f, err
		}
	}
	return nil, errRotates
}

// advance moves to the next younger file once the current one is read to its end. It returns false when there is nothing to
// read yet.
func (c *cursor) advance() (bool, error) {
	mine, err := c.stat()
	if err != nil {
		return false, err
	}
	for range maxRotationRetries {
		next := younger(c.rotations(), mine)
		if next == nil {
			return false, nil
		}
		if c.hasGrown() {
			return true, nil // a last write came before the rotation
		}
		f, err := c.open(next)
		if err != nil {
			return false, err
		}
		if f == nil {
			continue
		}
		if now := younger(c.rotations(), mine); now == nil || !os.SameFile(now.info, next.info) {
			f.Close() // a rotation in between: look again
			continue
		}
		c.close()
		c.setFile(f)
		return true, c.skipBeforeSince()
	}
	return false, errRotates
}

// stat describes the current file; nil when there is none yet.
func (c *cursor) stat() (os.FileInfo, error) {
	if c.f == nil {
		return nil, nil
	}
	return c.f.Stat()
}

// hasGrown reports whether the current file has unread data.
func (c *cursor) hasGrown() bool {
	if c.f == nil {
		return false
	}
	info, err := c.f.Stat()
	position, seekErr := c.f.Seek(0, io.SeekCurrent)
	return err == nil && seekErr == nil && info.Size() > position
}

func (c *cursor) setFile(f *os.File) {
	c.f, c.in, c.partial = f, bufio.NewReaderSize(f, 32<<10), nil
}

// skipBeforeSince skips most of the lines that are older than the query's since. Only the lines tell: the time of a file's last
// write comes from another, coarser clock and may be before the stamp of the line that was written.
func (c *cursor) skipBeforeSince() error {
	if c.since.IsZero() {
		return nil
	}
	info, err := c.f.Stat()
	if err != nil {
		return err
	}
	offset, err := sinceOffset(c.f, info.Size(), c.since)
	if err != nil {
		return err
	}
	_, err = c.f.Seek(offset, io.SeekStart)
	return err
}

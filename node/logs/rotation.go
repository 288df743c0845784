package logs

import (
	"bufio"
	"io"
	"os"
	"strconv"
)

// name is the file name of a rotation; 0 is the current file.
func (c *cursor) name(index int) string {
	if index == 0 {
		return c.container + ".log"
	}
	return c.container + ".log." + strconv.Itoa(index)
}

// eachRotation visits the existing files, youngest first, until visit stops it. During a rotation one number is missing for
// a moment.
func (c *cursor) eachRotation(visit func(index int, info os.FileInfo) (stop bool)) {
	for index, missing := 0, 0; missing < 2; index++ {
		info, err := c.task.Stat(c.name(index))
		if err != nil {
			missing++
		} else if missing = 0; visit(index, info) {
			return
		}
	}
}

// oldest is the index of the oldest rotation, -1 when there is none.
func (c *cursor) oldest() int {
	oldest := -1
	c.eachRotation(func(index int, _ os.FileInfo) bool { oldest = index; return false })
	return oldest
}

// nextIndex is the index of the next younger file than the current one, or of the oldest file when the current one was
// removed or there is none yet. It is -1 when the current file is the youngest.
func (c *cursor) nextIndex(mine os.FileInfo) int {
	next, found := -1, false
	if mine != nil {
		c.eachRotation(func(index int, info os.FileInfo) bool {
			if found = os.SameFile(mine, info); found {
				next = index - 1
			}
			return found
		})
	}
	if !found {
		next = c.oldest()
	}
	return next
}

// advance moves to the next younger file once the current one is read to its end. It returns false when there is nothing to
// read yet.
func (c *cursor) advance() (bool, error) {
	var mine os.FileInfo
	if c.f != nil {
		var err error
		if mine, err = c.f.Stat(); err != nil {
			return false, err
		}
	}
	index := c.nextIndex(mine)
	if index < 0 {
		return false, nil
	}
	f, err := c.task.Open(c.name(index))
	if err != nil {
		return false, ignoreMissing(err)
	}
	if c.nextIndex(mine) != index || c.hasGrown(mine) {
		f.Close()
		return true, nil // a rotation or a last write happened meanwhile: look again
	}
	c.close()
	c.setFile(f)
	return true, c.skipBeforeSince()
}

// hasGrown reports whether the current file has unread data.
func (c *cursor) hasGrown(mine os.FileInfo) bool {
	if mine == nil {
		return false
	}
	info, err := c.f.Stat()
	position, seekErr := c.f.Seek(0, io.SeekCurrent)
	return err == nil && seekErr == nil && info.Size() > position
}

func (c *cursor) setFile(f *os.File) {
	c.f, c.in, c.partial = f, bufio.NewReaderSize(f, 32<<10), nil
}

// skipBeforeSince skips lines older than the query's since: a whole file when its last write is older, otherwise most of
// its older lines.
func (c *cursor) skipBeforeSince() error {
	if c.since.IsZero() {
		return nil
	}
	info, err := c.f.Stat()
	if err != nil {
		return err
	}
	offset := info.Size()
	if !info.ModTime().Before(c.since) {
		if offset, err = sinceOffset(c.f, info.Size(), c.since); err != nil {
			return err
		}
	}
	_, err = c.f.Seek(offset, io.SeekStart)
	return err
}

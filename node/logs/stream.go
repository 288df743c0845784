package logs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pinion/node/logs/record"
)

// Stream reads the log of one container from a position on, line by line. A position is the number of bytes of the log before it: it
// stays the same when files are rotated or removed.
type Stream struct {
	cursor  *cursor
	changes *subscription
	at      int64 // position after the last line
	lost    int64
}

// StreamLine is a line of a Stream.
type StreamLine struct {
	Time    time.Time
	Stderr  bool
	Partial bool // the next line of the same stream continues this one
	Text    string
	End     int64 // the position after it
	Lost    int64 // bytes of the log between the line before and this one that were removed unread
}

// OpenStream opens the log of a container at a position. It returns nil when the log has no file.
func (s *Store) OpenStream(task, container string, position int64) (*Stream, error) {
	root, err := openTask(s.dir, task)
	if root == nil || err != nil {
		return nil, err
	}
	st := &Stream{cursor: &cursor{task: root, container: fileName(container)}, at: position}
	if err := st.seek(); err != nil || st.cursor.f == nil {
		st.Close()
		return nil, err
	}
	st.changes = s.writes.watch(filepath.Join(s.dir, fileName(task)))
	return st, nil
}

// Close ends the stream.
func (st *Stream) Close() {
	st.changes.close()
	st.cursor.close()
	st.cursor.task.Close()
}

// seek opens the file that has the position: the youngest that begins there or before, otherwise the oldest.
func (st *Stream) seek() error {
	for range maxRotationRetries {
		all, moved := st.cursor.rotations(), false
		for i := range all {
			f, err := st.cursor.open(&all[i])
			if err != nil {
				return err
			}
			if moved = f == nil; moved {
				break
			}
			base, err := baseOf(f)
			if err != nil || base > st.at && i < len(all)-1 {
				f.Close()
				if err != nil {
					return err
				}
				continue
			}
			st.cursor.setFile(f)
			return st.goTo(base, i == 0)
		}
		if !moved {
			return nil
		}
	}
	return errRotates
}

// goTo moves to the position in the file that was opened. A position behind the end of the log is of one that was removed since, or of
// what a power cut took.
func (st *Stream) goTo(base int64, youngest bool) error {
	info, err := st.cursor.f.Stat()
	if err != nil {
		return err
	}
	switch {
	case base > st.at:
		st.lost, st.at = base-st.at, base
	case st.at > base+info.Size() && youngest:
		st.at = base
	}
	_, err = st.cursor.f.Seek(st.at-base, io.SeekStart)
	return err
}

// baseOf is the number of bytes of the log before the file.
func baseOf(f *os.File) (int64, error) {
	line, err := bufio.NewReaderSize(io.NewSectionReader(f, 0, 64), 64).ReadSlice('\n')
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		return 0, err
	}
	base, _ := record.Base(line)
	return base, nil
}

// Next returns the next line; ok is false when there is none yet.
func (st *Stream) Next() (line StreamLine, ok bool, err error) {
	for {
		before := st.cursor.f
		raw, err := st.cursor.readLine()
		if err == nil && st.cursor.f != before {
			err = st.enter()
		}
		if raw == nil || err != nil {
			return line, false, err
		}
		st.at += int64(len(raw))
		read, whole := st.cursor.decode(raw)
		if !whole {
			continue // the first line of the file, or what a crash tore off
		}
		r, _ := record.Parse(raw)
		line = StreamLine{Time: read.Time, Stderr: read.Stream == "stderr", Partial: r.Partial, Text: read.Text, End: st.at, Lost: st.lost}
		st.lost = 0
		return line, true, nil
	}
}

// enter notes that the next file is read from its beginning. One with a lower base is of a log that was begun anew.
func (st *Stream) enter() error {
	base, err := baseOf(st.cursor.f)
	st.lost += max(0, base-st.at)
	st.at = base
	return err
}

// Written reports whether a logger has the log open, at this moment: not while it rotates its files.
func (st *Stream) Written() bool {
	name := st.cursor.name(0)
	if _, err := st.cursor.task.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return locked(st.cursor.task, name)
}

// Wait waits for a change of the log; it returns nil after so long at the latest, and the error of ctx when that ends.
func (st *Stream) Wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-st.changes.wakes():
		time.Sleep(followDelay)
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

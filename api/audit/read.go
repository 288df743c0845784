package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// Read calls emit for the lines in a directory since a time, the oldest first. A line that is cut short or damaged is skipped and counted.
func Read(dir string, since time.Time, emit func(Line) error) (damaged int, err error) {
	var all []*reader
	for _, name := range []string{administrationName, usersName, refusedName} {
		r := newReader(filepath.Join(dir, name), since, &damaged)
		defer r.stop()
		all = append(all, r)
	}
	for {
		var first *reader
		for _, r := range all {
			if r.more && (first == nil || r.line.Time.Before(first.line.Time)) {
				first = r
			}
		}
		if first == nil {
			return damaged, nil
		}
		if first.err != nil {
			return damaged, first.err
		}
		if err := emit(first.line); err != nil {
			return damaged, err
		}
		first.advance()
	}
}

// reader reads the files of one name.
type reader struct {
	next func() (Line, error, bool)
	stop func()
	line Line
	err  error // beside it there is no line, and it is the last
	more bool  // line or err is to be taken
}

func newReader(path string, since time.Time, damaged *int) *reader {
	r := &reader{}
	r.next, r.stop = iter.Pull2(lines(path, since, damaged))
	r.advance()
	return r
}

func (r *reader) advance() { r.line, r.err, r.more = r.next() }

// lines are those of a file and of the older ones of its name. Beside an error, which is the last, there is no line.
func lines(path string, since time.Time, damaged *int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for n := MaxFiles - 1; n >= 0; n-- {
			goOn, err := readFile(numbered(path, n), since, damaged, func(e Line) bool { return yield(e, nil) })
			if err != nil {
				yield(Line{}, err)
			}
			if err != nil || !goOn {
				return
			}
		}
	}
}

func readFile(path string, since time.Time, damaged *int, yield func(Line) bool) (goOn bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Line
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			*damaged++
			continue
		}
		if e.Time.Before(since) && e.Until.Before(since) {
			continue
		}
		if !yield(e) {
			return false, nil
		}
	}
	return true, lines.Err()
}

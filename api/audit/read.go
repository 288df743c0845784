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
	changed, stop := iter.Pull2(lines(filepath.Join(dir, changesName), since, &damaged))
	defer stop()
	refused, stop := iter.Pull2(lines(filepath.Join(dir, refusedName), since, &damaged))
	defer stop()
	change, changeErr, more := changed()
	refusal, refusalErr, others := refused()
	for more || others {
		e, err := change, changeErr
		if first := more && (!others || !refusal.Time.Before(change.Time)); first {
			change, changeErr, more = changed()
		} else {
			e, err = refusal, refusalErr
			refusal, refusalErr, others = refused()
		}
		if err == nil {
			err = emit(e)
		}
		if err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

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

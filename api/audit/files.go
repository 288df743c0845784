package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// administrationName is the file of what administrators did; older ones have a number, 1 the youngest. Earlier versions wrote the lines of
	// others into it too.
	administrationName = "audit.jsonl"
	// usersName is the file of what all others did.
	usersName = "users.jsonl"
	// refusedName is the file of refusals.
	refusedName = "refused.jsonl"
	// MaxFile bounds each file; the oldest of its name is removed.
	MaxFile = 16 << 20
	// MaxFiles is how many files of a name there are at most.
	MaxFiles = 8
)

// files are the file that is written, and the older ones beside it.
type files struct {
	path string
	file *os.File // nil: it could not be opened
	size int64
}

func (f *files) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	size, err := file.Seek(0, 2)
	if err != nil {
		file.Close()
		return err
	}
	f.file, f.size = file, size
	return nil
}

func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

func (f *files) append(line []byte) error {
	if f.file == nil || f.size+int64(len(line)) > MaxFile {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	return err
}

// rotate begins another file, and removes the oldest.
func (f *files) rotate() error {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
	for n := MaxFiles - 1; n > 0; n-- {
		if err := os.Rename(numbered(f.path, n-1), numbered(f.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.open()
}

// numbered is the name of an older file; 0 is the one that is written.
func numbered(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

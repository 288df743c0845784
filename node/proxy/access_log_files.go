package proxy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of an access log on disk. The oldest file is removed.
const (
	maxAccessFile  = 64 << 20
	maxAccessFiles = 8
)

// AccessLogFiles is an access log in a directory: access.jsonl, and the older access.jsonl.1 (the youngest) to .7. One goroutine writes it.
type AccessLogFiles struct {
	path    string
	maxFile int64
	file    *os.File // nil: it could not be opened, and is tried again
	size    int64
}

var _ io.WriteCloser = (*AccessLogFiles)(nil)

// OpenAccessLog makes the directory, if need be, and goes on with the file that is there.
func OpenAccessLog(directory string) (*AccessLogFiles, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the access log: %w", err)
	}
	a := &AccessLogFiles{path: filepath.Join(directory, "access.jsonl"), maxFile: maxAccessFile}
	return a, a.open()
}

func (a *AccessLogFiles) open() error {
	file, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the access log: %w", err)
	}
	if a.size, err = file.Seek(0, io.SeekEnd); err != nil {
		file.Close()
		return fmt.Errorf("opening the access log: %w", err)
	}
	a.file = file
	return nil
}

// Write appends a line.
func (a *AccessLogFiles) Write(line []byte) (int, error) {
	if a.file != nil && a.size > 0 && a.size+int64(len(line)) > a.maxFile {
		if err := a.rotate(); err != nil {
			return 0, err
		}
	}
	if a.file == nil {
		if err := a.open(); err != nil {
			return 0, err
		}
	}
	n, err := a.file.Write(line)
	a.size += int64(n)
	return n, err
}

// rotate renames the files by one. While that fails lines are lost, and the bound holds.
func (a *AccessLogFiles) rotate() error {
	for i := maxAccessFiles - 1; i > 0; i-- {
		if err := os.Rename(a.numbered(i-1), a.numbered(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotating the access log: %w", err)
		}
	}
	err := a.file.Close()
	a.file = nil
	return err
}

func (a *AccessLogFiles) numbered(i int) string {
	if i == 0 {
		return a.path
	}
	return fmt.Sprintf("%s.%d", a.path, i)
}

// Close ends the log.
func (a *AccessLogFiles) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/failpoint"
)

// Preallocate gives the whole file, and at least Options.Reserve, real blocks on the disk, so that Raft's own records
// and the commands that free space still find room when everything else is full. Bolt grows its file sparsely, so
// this is repeated from time to time. It writes nothing when there is nothing to do.
func (s *Store) Preallocate() error {
	info, err := os.Stat(s.opts.Path)
	if err != nil {
		return err
	}
	size := max(info.Size(), s.opts.Reserve)
	if info.Size() == size && info.Sys().(*syscall.Stat_t).Blocks*512 >= size {
		return nil
	}
	file, err := os.OpenFile(s.opts.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Fallocate(int(file.Fd()), 0, 0, size); err != nil {
		return fmt.Errorf("allocate %d MiB for %s: %w", size>>20, s.opts.Path, err)
	}
	return file.Sync()
}

// IsDiskFull reports whether the error says that there is no room on the disk. Bolt keeps only the text of some errors.
func IsDiskFull(err error) bool {
	for _, full := range []error{unix.ENOSPC, unix.EDQUOT} {
		if errors.Is(err, full) || strings.Contains(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}

// FreeSpace is how many bytes are free on the file system that holds path: what df calls available.
func FreeSpace(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("ask for free space of %s: %w", path, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// Set writes a stable value: the term, or a vote. Raft panics when it cannot, so on a full disk, once guarded, the
// call waits: this server neither votes nor leads until there is room again, and goes on by itself then. A value that
// is there already costs no write.
func (s *Store) Set(key, value []byte) error {
	if old, err := s.Get(key); err == nil && bytes.Equal(old, value) {
		return nil
	}
	for said := false; ; {
		err := s.set(key, value)
		switch {
		case err == nil:
			failpoint.Reached(failpoint.ValueStored)
			return nil
		case s.fatalHandler() == nil:
			return err
		case !IsDiskFull(err):
			return s.fatal(err)
		}
		if !said {
			s.opts.Log.Error("the disk is full: this server cannot take part in elections until there is room", "file", s.opts.Path, "error", err)
			said = true
		}
		select {
		case <-s.stopped:
			runtime.Goexit() // the value is not on disk; no answer to Raft would be true
		case <-time.After(s.opts.RetryInterval):
		}
	}
}

func (s *Store) set(key, value []byte) error {
	defer s.startWatchdog("Set")()
	if err := s.inner.Set(key, addValueChecksum(key, value)); err != nil {
		return fmt.Errorf("write %q to %s: %w", key, s.opts.Path, err)
	}
	return nil
}

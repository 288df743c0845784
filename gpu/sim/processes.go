package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// openers lists the processes that have the device open. It compares device numbers, so the mount namespace and the path do
// not matter. A process that it may not inspect is an error, because the device may be in use.
func openers(ctx context.Context, proc string, device uint64) ([]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("processes on a simulated GPU: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		holds, err := holdsOpen(filepath.Join(proc, entry.Name(), "fd"), device)
		if err != nil {
			return nil, fmt.Errorf("processes on a simulated GPU: %w", err)
		}
		if holds {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func holdsOpen(dir string, device uint64) (bool, error) {
	files, err := os.ReadDir(dir)
	if processGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, file := range files {
		// An error means that the file was closed meanwhile or has no target; either way it is not the device.
		if number, err := deviceNumber(filepath.Join(dir, file.Name())); err == nil && number == device {
			return true, nil
		}
	}
	return false, nil
}

// processGone reports whether the process has exited since it was listed.
func processGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

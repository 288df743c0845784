package containerd

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// startedFiles is a directory with one file for each container that was started. It distinguishes a container whose shim
// died from one that never ran, and holds the time of the start. The files are not synced, so a start does not wait for the
// disk.
type startedFiles struct{ dir string }

func (f startedFiles) record(id string, at time.Time) error {
	return os.WriteFile(f.path(id), at.UTC().AppendFormat(nil, time.RFC3339Nano), 0o600)
}

// startedAt returns the time of the start, zero for a container that never ran. A file that a power cut tore says that it ran, and
// its own time is when.
func (f startedFiles) startedAt(id string) time.Time {
	raw, err := os.ReadFile(f.path(id))
	if err != nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, string(raw))
	if err == nil && !at.IsZero() {
		return at
	}
	info, err := os.Stat(f.path(id))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (f startedFiles) remove(id string) { os.Remove(f.path(id)) }

// removeStale removes the files of containers that no longer exist.
func (f startedFiles) removeStale(known map[string]bool) error {
	files, err := os.ReadDir(f.dir)
	for _, file := range files {
		if !known[file.Name()] {
			err = errors.Join(err, os.Remove(f.path(file.Name())))
		}
	}
	return err
}

func (f startedFiles) path(id string) string { return filepath.Join(f.dir, filepath.Base(id)) }

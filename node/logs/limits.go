package logs

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound the logs of a host together.
type Limits struct {
	Bytes int64 // of all logs
	Free  int64 // while less of the disk is free, logs of tasks that ended some minutes ago go
}

// minKept is the time after its last line that a log stays on a disk that something else fills: people look at what just failed.
const minKept = 10 * time.Minute

// Removed counts the logs that were removed to hold the limits.
type Removed struct {
	Tasks int   // ended tasks whose logs are gone
	Files int   // rotated files of running tasks
	Bytes int64 // of both
	Over  int64 // bytes that are still too many, all of them of running tasks
}

// Hold removes logs until the limits hold, and a tenth more so that this is not done all the time: those of ended tasks, the one
// that was silent for longest first; then, for Bytes only, the rotated files of running tasks, oldest first. The files that are
// being written stay.
func (s *Store) Hold(limits Limits) (removed Removed, err error) {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, err
	}
	defer root.Close()
	tasks, err := keptLogs(root)
	if err != nil {
		return removed, err
	}
	total := int64(0)
	for _, t := range tasks {
		total += t.bytes
	}
	tooMany := total - limits.Bytes
	if tooMany > 0 {
		tooMany += limits.Bytes / 10
	}
	tooFull := limits.Free - s.freeSpace()
	slices.SortFunc(tasks, func(a, b keptLog) int { return a.last.Compare(b.last) })
	var running []keptLog
	recently := time.Now().Add(-minKept)
	for _, t := range tasks {
		if removed.Bytes >= tooMany && (removed.Bytes >= tooFull || t.last.After(recently)) {
			break
		}
		if t.isWritten(root) {
			running = append(running, t)
			continue
		}
		err = errors.Join(err, root.RemoveAll(t.name))
		removed.Tasks, removed.Bytes = removed.Tasks+1, removed.Bytes+t.bytes
	}
	err = errors.Join(err, removeRotated(root, running, tooMany, &removed))
	removed.Over = max(0, total-removed.Bytes-limits.Bytes)
	return removed, err
}

func removeRotated(root *os.Root, running []keptLog, tooMany int64, removed *Removed) (err error) {
	var rotated []keptFile
	for _, t := range running {
		rotated = append(rotated, t.rotated...)
	}
	slices.SortFunc(rotated, func(a, b keptFile) int { return a.last.Compare(b.last) })
	for _, f := range rotated {
		if tooMany <= removed.Bytes {
			break
		}
		err = errors.Join(err, ignoreMissing(root.Remove(f.path)))
		removed.Files, removed.Bytes = removed.Files+1, removed.Bytes+f.bytes
	}
	return err
}

// hold is Hold, with a line in the host's log when something was removed.
func (s *Store) hold(limits Limits, log *slog.Logger) {
	removed, err := s.Hold(limits)
	if err != nil {
		log.Warn("logs could not be removed, they take space", "error", err)
	}
	if removed.Tasks+removed.Files > 0 {
		log.Info("logs were removed before their time, to keep --max-logs and --min-free of `pinion up`", "endedTasks", removed.Tasks, "rotatedFilesOfRunningTasks", removed.Files, "bytes", removed.Bytes)
	}
	if removed.Over > 0 {
		log.Warn("the logs of running tasks are more than --max-logs", "excessBytes", removed.Over)
	}
}

// keptLog is the log of one task on disk.
type keptLog struct {
	name    string // of its directory
	files   []string
	rotated []keptFile
	bytes   int64
	last    time.Time // last write
}

type keptFile struct {
	path  string // in the store
	bytes int64
	last  time.Time
}

func keptLogs(root *os.Root) (all []keptLog, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, newKeptLog(root, e.Name()))
		}
	}
	return all, err
}

// newKeptLog adds up the files that are there: some may go meanwhile.
func newKeptLog(root *os.Root, name string) keptLog {
	t := keptLog{name: name}
	entries, _ := fs.ReadDir(root.FS(), name)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		f := keptFile{name + "/" + e.Name(), bytesOnDisk(info), info.ModTime()}
		t.files, t.bytes = append(t.files, f.path), t.bytes+f.bytes
		if t.last.Before(f.last) {
			t.last = f.last
		}
		if strings.Contains(e.Name(), ".log.") {
			t.rotated = append(t.rotated, f)
		}
	}
	return t
}

// isWritten reports whether a logger has one of the files open.
func (t keptLog) isWritten(root *os.Root) bool {
	return slices.ContainsFunc(t.files, func(path string) bool { return locked(root, path) })
}

// bytesOnDisk counts whole blocks: the logs of many short tasks are mostly those.
func bytesOnDisk(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

// freeSpace is the space for users on the disk of the logs; everything when it is not known.
func (s *Store) freeSpace() int64 {
	var stat unix.Statfs_t
	if unix.Statfs(s.dir, &stat) != nil {
		return math.MaxInt64
	}
	return int64(stat.Bavail) * stat.Bsize
}

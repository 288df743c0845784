// Package logs keeps the output of containers. A logger process per container (pinion-logger) writes it into rotating
// files; a Store reads, follows and removes them.
package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/lazyregexp"
)

// Store is the directory that holds all logs of this host: <dir>/<task>/<container>.log and, rotated, .log.1, .log.2.
type Store struct {
	dir    string
	poll   time.Duration // interval at which a follower polls for what wakes nobody: the first log of a task
	writes watcher

	// GroupRetention is the retention of a log group's logs after their last line; 0, or nil: Retention.
	GroupRetention func(group string) time.Duration
	// Deleted lists the deleted log groups with the time before which their lines go, in milliseconds since 1970; nil: none.
	Deleted func() map[string]int64
}

// NewStore returns the store in dir, which need not exist until there are logs.
func NewStore(dir string) *Store { return &Store{dir: dir, poll: 100 * time.Millisecond} }

// Path returns the log file of a task's container. It is inside the store for any names.
func (s *Store) Path(task, container string) string {
	return filepath.Join(s.dir, fileName(task), fileName(container)+".log")
}

// Prune removes the logs of tasks that have written nothing for longer than they are kept, and that no logger holds open, and what was
// written to log groups before they were deleted.
func (s *Store) Prune(now time.Time) error {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer root.Close()
	tasks, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	deleted := s.deleted()
	var failed []error
	for _, task := range tasks {
		if len(deleted) > 0 && task.IsDir() {
			failed = append(failed, removeDeleted(root, task.Name(), deleted))
		}
		if task.IsDir() && !inUse(root, task.Name(), now.Add(-s.keptFor(root, task.Name()))) {
			failed = append(failed, root.RemoveAll(task.Name()))
		}
	}
	return errors.Join(failed...)
}

// inUse reports whether a task's logs are younger than that, or locked by a logger.
func inUse(root *os.Root, task string, before time.Time) bool {
	entries, err := fs.ReadDir(root.FS(), task)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err != nil || !info.ModTime().Before(before) || locked(root, task+"/"+e.Name())
	})
}

func locked(root *os.Root, name string) bool {
	f, err := root.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

var plainName = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$`)

// fileName returns a file name for a name: the name itself when it is safe, otherwise its digest.
func fileName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "x-" + hex.EncodeToString(sum[:12])
}

// containers lists the containers of a task with logs, by name.
func containers(task *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(task.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return names, nil
}

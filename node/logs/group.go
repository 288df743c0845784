package logs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
)

// groupSuffix ends the name of the file in which a logger notes the log group of its container.
const groupSuffix = ".group"

// keptFor is the retention of a task's logs: the longest of its containers' log groups. Where the groups say nothing, or are not known, it is Retention.
func (s *Store) keptFor(root *os.Root, task string) time.Duration {
	entries, err := fs.ReadDir(root.FS(), task)
	if err != nil || s.GroupRetention == nil {
		return Retention
	}
	longest := time.Duration(0)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), groupSuffix) {
			continue
		}
		kept := Retention
		if group, err := fs.ReadFile(root.FS(), task+"/"+e.Name()); err == nil {
			if chosen := s.GroupRetention(string(group)); chosen > 0 {
				kept = chosen
			}
		}
		longest = max(longest, kept)
	}
	if longest == 0 {
		return Retention
	}
	return longest
}

// deleted is Deleted, also when it is nil.
func (s *Store) deleted() map[string]int64 {
	if s.Deleted == nil {
		return nil
	}
	return s.Deleted()
}

// removeDeleted removes the files of a task that were last written before their log group was deleted. The file that a running
// container writes to stays until the container has ended.
func removeDeleted(root *os.Root, task string, deleted map[string]int64) (err error) {
	entries, _ := fs.ReadDir(root.FS(), task)
	for _, e := range entries {
		container, ok := strings.CutSuffix(e.Name(), groupSuffix)
		if !ok {
			continue
		}
		group, readErr := fs.ReadFile(root.FS(), task+"/"+e.Name())
		if at := deleted[string(group)]; readErr == nil && at > 0 {
			err = errors.Join(err, removeBefore(root, task, container, time.UnixMilli(at)))
		}
	}
	return err
}

// removeBefore removes the files of a container that were last written before a moment, and after the last one what names its log group.
func removeBefore(root *os.Root, task, container string, at time.Time) (err error) {
	entries, _ := fs.ReadDir(root.FS(), task)
	left := false
	for _, e := range entries {
		if e.Name() != container+".log" && !strings.HasPrefix(e.Name(), container+".log.") {
			continue
		}
		path := task + "/" + e.Name()
		if info, infoErr := e.Info(); infoErr != nil || !info.ModTime().Before(at) || locked(root, path) {
			left = true
			continue
		}
		err = errors.Join(err, ignoreMissing(root.Remove(path)))
	}
	if !left {
		for _, suffix := range []string{groupSuffix, recordsSuffix, forwardSuffix, positionSuffix, forwardSuffix + ".log", forwardSuffix + ".log.1"} {
			err = errors.Join(err, ignoreMissing(root.Remove(task+"/"+container+suffix)))
		}
		_ = root.Remove(task) // when it is empty
	}
	return err
}

package task

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"pinion/node/runtime"
)

// Ids of a host are given to tasks with user namespaces in ranges, each to one task at a time: from 2^31 up to the last whole range, where
// neither people nor other programs have any. A range is a link in the directory <Dir>/ids, from its first id to the task's id, and a link
// in the task's directory leads back: a link is there as a whole or not at all, whatever a power cut takes.
const (
	firstID  = 1 << 31
	idRanges = (1<<32-firstID)/runtime.IDRangeSize - 1
)

// rangesDir is the directory of the ranges that tasks have.
func rangesDir(dir string) string { return filepath.Join(dir, "ids") }

// SweepIDs gives back the ids of tasks that left no directory: a task has its directory before it has ids, and its ids until it has no
// directory.
func SweepIDs(dir string) error {
	all, err := fileNames(rangesDir(dir))
	for _, name := range all {
		link := filepath.Join(rangesDir(dir), name)
		task, broken := os.Readlink(link)
		if _, none := os.Lstat(newTaskDir(dir, task).path); broken != nil || errors.Is(none, fs.ErrNotExist) {
			err = errors.Join(err, os.Remove(link))
		}
	}
	return err
}

// takeIDs are the ids of the task's user namespaces, the same at each call. What was started without them goes on without them, whatever
// is wanted now.
func (d taskDir) takeIDs(wanted bool) (runtime.IDRange, error) {
	known, err := d.ids()
	if err != nil || !known.IsZero() || !wanted {
		return known, err
	}
	if _, err := os.Stat(filepath.Join(d.path, "containers")); err == nil {
		return runtime.IDRange{}, nil
	}
	if err := errors.Join(os.MkdirAll(d.path, 0o755), os.MkdirAll(rangesDir(d.agentDir()), 0o700)); err != nil {
		return runtime.IDRange{}, fmt.Errorf("ids of its user namespaces: %w", err)
	}
	ids, err := d.takeRange()
	if err == nil {
		err = os.Symlink(idText(ids), filepath.Join(d.path, "ids"))
	}
	if err != nil {
		return runtime.IDRange{}, fmt.Errorf("ids of its user namespaces: %w", err)
	}
	return ids, nil
}

// takeRange finds a range that no other task has, from one that follows from the task's id: a range is not used again soon, and two hosts
// on one machine seldom use the same.
func (d taskDir) takeRange() (runtime.IDRange, error) {
	task := filepath.Base(d.path)
	hash := fnv.New32a()
	hash.Write([]byte(task))
	for i := range idRanges {
		ids := runtime.IDRange{First: firstID + (hash.Sum32()%idRanges+uint32(i))%idRanges*runtime.IDRangeSize}
		link := filepath.Join(rangesDir(d.agentDir()), idText(ids))
		err := os.Symlink(task, link)
		if err == nil {
			return ids, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return ids, err
		}
		if owner, err := os.Readlink(link); err == nil && owner == task { // of a start that a crash cut short
			return ids, nil
		}
	}
	return runtime.IDRange{}, fmt.Errorf("tasks of this host have all %d ranges of %d ids", idRanges, runtime.IDRangeSize)
}

// ids is the range of ids of the task; zero: it has no user namespaces, or was not started yet.
func (d taskDir) ids() (runtime.IDRange, error) {
	text, err := os.Readlink(filepath.Join(d.path, "ids"))
	if errors.Is(err, fs.ErrNotExist) {
		return runtime.IDRange{}, nil
	}
	if err != nil {
		return runtime.IDRange{}, err
	}
	first, err := strconv.ParseUint(text, 10, 32)
	return runtime.IDRange{First: uint32(first)}, err
}

// releaseIDs gives ids back that nothing on this host has any more.
func (d taskDir) releaseIDs(ids runtime.IDRange) error {
	if ids.IsZero() {
		return nil
	}
	err := os.Remove(filepath.Join(rangesDir(d.agentDir()), idText(ids)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// agentDir is the agent's directory, which the task's is in.
func (d taskDir) agentDir() string { return filepath.Dir(filepath.Dir(d.path)) }

func idText(ids runtime.IDRange) string { return strconv.FormatUint(uint64(ids.First), 10) }

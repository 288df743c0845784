// Package filetree removes directories that containers have filled, whatever is in them.
package filetree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// maxDepth bounds the directories that are open at a time: deeper ones are moved up first. os.RemoveAll holds one open for each level,
	// so a container that nests a million of them would take all the files that this process may have.
	maxDepth = 64
	// batch is the number of names that are read at a time.
	batch = 1024
	// maxNames bounds the names that are tried for a directory that is moved up.
	maxNames = 1 << 20
)

// Remove removes a path and all below it, as os.RemoveAll does, with a bounded number of open files however deep it is. What is not there is no
// error. An error names path alone; it is that of ctx when ctx ends before everything is gone, for a directory that is filled meanwhile never ends.
func Remove(ctx context.Context, path string) error {
	err := unix.Unlink(path)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err := Clear(ctx, path); err != nil {
		return err
	}
	return failed(path, unix.Rmdir(path))
}

// Clear removes all below a directory, as Remove does. A directory that is not there is no error.
func Clear(ctx context.Context, path string) error {
	top, err := open(unix.AT_FDCWD, path)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return failed(path, err)
	}
	defer top.Close()
	r := removal{ctx: ctx, top: top}
	for r.moved = true; r.moved && err == nil; { // what was moved up is there now
		r.moved = false
		err = r.clear(top, 1)
	}
	return failed(path, err)
}

// failed is the error of a removal; nil stays nil.
func failed(path string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: path, Err: err}
}

func open(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Base(name)), nil
}

// removal is one call of Clear.
type removal struct {
	ctx   context.Context
	top   *os.File
	names int  // that were given to what was moved up
	moved bool // something was moved up since top was read last
}

// clear removes the entries of a directory. It reads from the beginning until nothing is left: what is removed moves the rest.
func (r *removal) clear(dir *os.File, depth int) error {
	for {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		if _, err := dir.Seek(0, 0); err != nil {
			return err
		}
		names, err := dir.Readdirnames(batch)
		if len(names) == 0 {
			return nil // io.EOF, or an error that the removal of the directory tells
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.remove(dir, name, depth); err != nil {
				return err
			}
		}
	}
}

func (r *removal) remove(dir *os.File, name string, depth int) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	switch empty := rmdir(dir, name); {
	case errors.Is(empty, unix.ENOTDIR):
		return err
	case !errors.Is(empty, unix.ENOTEMPTY) && !errors.Is(empty, unix.EEXIST):
		return empty
	}
	if depth == maxDepth {
		return r.moveUp(dir, name)
	}
	child, err := open(int(dir.Fd()), name)
	if err != nil {
		return err
	}
	err = r.clear(child, depth+1)
	child.Close()
	if err != nil {
		return err
	}
	return rmdir(dir, name)
}

func rmdir(dir *os.File, name string) error {
	if err := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// moveUp moves a directory to the top, under a name that nothing has; an empty directory that has it is replaced.
func (r *removal) moveUp(dir *os.File, name string) error {
	r.moved = true
	for r.names < maxNames {
		r.names++
		err := unix.Renameat(int(dir.Fd()), name, int(r.top.Fd()), ".removed-"+strconv.Itoa(r.names))
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
	return unix.EEXIST
}

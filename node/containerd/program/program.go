// Package program finds the program of a command in the root directory of a container, as runc does before it starts one.
package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// executable are the bits of a mode of which a program has one.
const executable = 0o111

// Find looks for the program of a command: name is its first word, dir its working directory, and paths its variable PATH. All of them are below root, which links
// do not leave. The error has runc's words and is an *exec.Error when there is certainly no such program. What cannot be looked at, and what depends on the
// user of the container, is left to whoever executes it.
func Find(root, name, dir, paths string) error {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look for the program of a container in %s: %w", root, err)
	}
	defer unix.Close(fd)
	if strings.Contains(name, "/") {
		err := check(fd, absolute(dir, name))
		if err == nil {
			return nil
		}
		return &exec.Error{Name: name, Err: err}
	}
	for _, p := range filepath.SplitList(paths) {
		if check(fd, absolute(dir, p)+"/"+name) == nil {
			return nil
		}
	}
	return &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// absolute is a path as seen from a directory. It is not cleaned: what is behind a link is known to the kernel alone.
func absolute(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

// check says why a file is certainly no program.
func check(root int, name string) error {
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var is unix.Stat_t
	switch err := unix.Fstat(fd, &is); {
	case err != nil:
		return nil
	case is.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.EISDIR
	case is.Mode&executable == 0:
		return unix.EACCES
	}
	return nil
}

// Package volume opens the directories of this host that tasks may mount: those that `pinion up --volume` names, and one in the data
// directory. A path is opened without following a link out of its directory, whatever a task has put there, and what is opened is
// what is mounted.
package volume

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/volumeroot"
)

// Roots are the volume roots of this host.
type Roots struct {
	all     []root
	private []string // real paths that no volume is in or contains
	shared  shared
}

// root is a volume root and the real path of its directory.
type root struct {
	volumeroot.Root
	dir  string
	mode os.FileMode // of directories that are made below it
}

// systemDirs belong to the host: who writes there is root on it.
var systemDirs = []string{"/etc", "/run", "/proc", "/sys", "/dev"}

// Open checks the directories that the operator names, and makes the one in the data directory. private are further files and
// directories with which a task would be root on the host, such as containerd's socket. An error names the option that is wrong.
func Open(named []volumeroot.Root, dataDir string, private ...string) (*Roots, error) {
	r := &Roots{shared: shared{removed: make(chan struct{}, 1)}}
	for _, path := range slices.Concat(systemDirs, []string{dataDir}, private) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path // it is not there, or not yet
		}
		r.private = append(r.private, real)
	}
	for _, n := range named {
		if err := r.add(n); err != nil {
			return nil, fmt.Errorf("--volume %s: %w", n, err)
		}
	}
	if !slices.ContainsFunc(r.all, func(known root) bool { return known.Name == volumeroot.Local }) {
		if err := r.addLocal(filepath.Join(dataDir, "volumes")); err != nil {
			return nil, err
		}
	}
	return r, r.listShared()
}

// addLocal adds the root that every host has. It goes by its name alone, so no definition knows where the data directory is. Users of the
// host do not get in: a task may leave a program there that is root's and setuid.
func (r *Roots) addLocal(dir string) error {
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)); err != nil {
		return fmt.Errorf("directory for volumes: %w", err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("directory for volumes: %w", err)
	}
	r.all = append(r.all, root{volumeroot.Root{Name: volumeroot.Local}, dir, 0o777})
	return nil
}

func (r *Roots) add(n volumeroot.Root) error {
	if !filepath.IsAbs(n.Path) {
		return fmt.Errorf("%s is not an absolute path", n.Path)
	}
	dir, err := filepath.EvalSymlinks(n.Path)
	if err != nil {
		return fmt.Errorf("%w; make the directory first", err)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if dir == "/" {
		return fmt.Errorf("the root directory of the host is never given to tasks: name the directories that they need")
	}
	for _, path := range r.private {
		own, err := os.Stat(path)
		alias := err == nil && os.SameFile(own, info) // by a bind mount
		if alias || within(dir, path) || within(path, dir) {
			return fmt.Errorf("%s is never given to tasks, with what is in it or around it: who has it is root on this host", path)
		}
	}
	for _, other := range r.all {
		if within(dir, other.dir) || within(other.dir, dir) {
			return fmt.Errorf("it is in the directory of --volume %s, or around it: give one of them", other.Root)
		}
		if n.Name != "" && n.Name == other.Name {
			return fmt.Errorf("--volume %s has this name already", other.Root)
		}
	}
	mode := os.FileMode(0o755)
	if n.Name == volumeroot.Local {
		mode = 0o777
	}
	n.Path = filepath.Clean(n.Path)
	r.all = append(r.all, root{n, dir, mode})
	return nil
}

// List is the roots as the host reports them to its pool.
func (r *Roots) List() []volumeroot.Root {
	all := make([]volumeroot.Root, len(r.all))
	for i, known := range r.all {
		all[i] = known.Root
	}
	return all
}

// within reports whether the path is the directory or something in it. Both are real paths.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// Volume is a file or directory below a root.
type Volume struct {
	roots      *Roots
	root       root
	below      string // path below the root
	sourcePath string
}

// Find finds the volume that the sourcePath of a task definition names.
func (r *Roots) Find(sourcePath string) (*Volume, error) {
	if r != nil {
		if known, below, found := volumeroot.Find(r.List(), sourcePath); found {
			if known.Name == volumeroot.Local && strings.HasPrefix(below, removedPrefix) {
				return nil, fmt.Errorf("%s: a name that begins with %s is of a volume that is being removed; choose another one", sourcePath, removedPrefix)
			}
			at := slices.IndexFunc(r.all, func(other root) bool { return other.Root == known })
			return &Volume{r, r.all[at], below, sourcePath}, nil
		}
	}
	return nil, fmt.Errorf("%s is in no directory that this host gives to tasks; start the host with pinion up --volume", sourcePath)
}

// At is a file or directory below one that is no volume root: the real path dir, such as that of a mounted file system, which errors call name.
func At(dir, below, name string) *Volume {
	return &Volume{root: root{Root: volumeroot.Root{Name: name}, dir: dir}, below: below, sourcePath: path.Join(name, below)}
}

// ReadOnly reports whether its root is read-only.
func (v *Volume) ReadOnly() bool { return v.root.ReadOnly }

// openRoot opens the directory of the root by its real path: a link that takes the place of a part of it since is not followed.
func (v *Volume) openRoot() (*os.File, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, v.root.dir, how)
	if err != nil {
		return nil, v.explain(err)
	}
	return os.NewFile(uintptr(fd), v.root.dir), nil
}

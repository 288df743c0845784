package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// openAttempts bounds the repetitions of an open that a rename or a mount elsewhere disturbed.
const openAttempts = 32

// kernelFileSystems are the file systems with which a process changes what its host allows it. One that is mounted below a volume
// root is not a volume, and neither is a directory that has one below it.
var kernelFileSystems = []string{
	"binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "nsfs", "proc", "pstore",
	"rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
}

// Make makes the directory of the volume when it is missing, as ECS does, unless its root is given to be read only.
func (v *Volume) Make() error {
	defer v.keep()()
	err := v.make()
	if err == nil {
		v.recordShared()
	}
	return err
}

func (v *Volume) make() error {
	file, err := v.open()
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) || v.root.ReadOnly {
		return err
	}
	dir, err := v.openRoot()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := v.makeBelow(dir); err != nil {
		return v.explain(err)
	}
	if file, err = v.open(); err != nil {
		return err
	}
	return file.Close()
}

// makeBelow makes the directory below that of the root. It has its mode from the first moment on, past the umask, which a thread of its own is
// without: what is found by its path afterwards may be something that a task has put there meanwhile, and whose mode is not ours to change.
func (v *Volume) makeBelow(dir *os.File) error {
	below, err := os.OpenRoot(descriptorPath(dir))
	if err != nil {
		return err
	}
	defer below.Close()
	if err := below.MkdirAll(filepath.Dir(v.below), 0o755); err != nil {
		return err
	}
	made := make(chan error, 1)
	go func() {
		goruntime.LockOSThread() // for good: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			made <- fmt.Errorf("a thread with a umask of its own: %w", err)
			return
		}
		unix.Umask(0)
		made <- below.Mkdir(v.below, v.root.mode)
	}()
	if err := <-made; err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Open opens the volume without reading it or following a link out of its root. It is what a mount of the file is of, whatever
// becomes of the path afterwards.
func (v *Volume) Open() (*os.File, error) {
	defer v.keep()()
	return v.open()
}

func (v *Volume) open() (*os.File, error) {
	dir, err := v.openRoot()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := v.openBelow(dir, unix.O_DIRECTORY) // which mounts what the host mounts on demand
	if err == unix.ENOTDIR {
		fd, err = v.openBelow(dir, 0)
	}
	if err != nil {
		return nil, v.explain(err)
	}
	file := os.NewFile(uintptr(fd), v.sourcePath)
	if err := v.check(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", v.sourcePath, err)
	}
	return file, nil
}

// openBelow opens the path of the volume below the directory of its root.
func (v *Volume) openBelow(dir *os.File, flags uint64) (fd int, err error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for range openAttempts {
		if fd, err = unix.Openat2(int(dir.Fd()), v.below, how); err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
	return fd, err
}

// check allows a directory or a regular file, where it is expected, and nothing of the kernel's or of Pinion's own.
func (v *Volume) check(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("it is neither a directory nor a regular file, and sockets, pipes and devices are never given to tasks")
	}
	real, err := os.Readlink(descriptorPath(file))
	if err != nil {
		return err
	}
	if !within(real, v.root.dir) {
		return fmt.Errorf("it is not in %s any more", v.root.dir)
	}
	kernel, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		in := within(m.Mountpoint, real) || within(m.Mountpoint, v.root.dir) && within(real, m.Mountpoint)
		return !in || !slices.Contains(kernelFileSystems, m.FSType), false
	})
	if err != nil {
		return err
	}
	if len(kernel) > 0 {
		return fmt.Errorf("a file system of the kernel (%s) is mounted at %s, and is never given to tasks", kernel[0].FSType, kernel[0].Mountpoint)
	}
	return nil
}

// descriptorPath is a path that leads to the open file itself.
func descriptorPath(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }

// explain describes an error of the kernel for a volume.
func (v *Volume) explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%s: this kernel is older than 5.6 and cannot keep a path inside its directory, so it mounts no directories of the host", v.sourcePath)
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP), strings.Contains(err.Error(), "path escapes from parent"):
		return fmt.Errorf("%s: a link in it leads out of %s, which no link may: %w", v.sourcePath, v.root.dir, err)
	case errors.Is(err, fs.ErrNotExist) && v.root.ReadOnly:
		return fmt.Errorf("%s is not there, and is not made because %s is given to be read only: %w", v.sourcePath, v.root, err)
	}
	return fmt.Errorf("%s: %w", v.sourcePath, err)
}

package containerd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"pinion/node/containerd/daemon"
	"pinion/node/runtime"
)

// volumeStaging is a directory in which the volumes of containers that are being started are mounted. runc takes a path, and other
// tasks may change the paths of a volume at any time, so it is given a path that only root can change: the mount of what was opened
// and checked. The mounts last as long as the start.
type volumeStaging struct {
	dir    string
	daemon string // socket of containerd, which has to see the mounts
}

// volumeMounts are the mounts for the start of one container.
type volumeMounts struct {
	staging volumeStaging
	dir     string
	points  []string
	ids     *os.File // user namespace of the container, with whose ids it sees and leaves the files; nil: it has none
}

// start begins the mounts of a container; release removes them.
func (s volumeStaging) start(container string) *volumeMounts {
	return &volumeMounts{staging: s, dir: filepath.Join(s.dir, filepath.Base(container))}
}

// attach mounts the volume and returns the path of the mount. Read-only is for all that is mounted below the volume too.
func (m *volumeMounts) attach(volume runtime.HostVolume, readOnly bool) (string, error) {
	return m.attachFor(volume, readOnly, m.ids)
}

// attachAsIs is attach for files whose owners have the ids of the host in a user namespace too.
func (m *volumeMounts) attachAsIs(volume runtime.HostVolume, readOnly bool) (string, error) {
	return m.attachFor(volume, readOnly, nil)
}

func (m *volumeMounts) attachFor(volume runtime.HostVolume, readOnly bool, ids *os.File) (string, error) {
	if err := m.staging.checkNamespace(); err != nil {
		return "", err
	}
	file, err := volume.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	point, err := m.point(file)
	if err != nil {
		return "", err
	}
	return point, mountFile(file, point, readOnly, ids)
}

// point makes a mount point for the file or directory.
func (m *volumeMounts) point(file *os.File) (string, error) {
	point := filepath.Join(m.dir, strconv.Itoa(len(m.points)))
	if err := makeMountPoint(file, point); err != nil {
		return "", err
	}
	m.points = append(m.points, point)
	return point, nil
}

// makeMountPoint makes a directory or an empty file, as the volume is one.
func makeMountPoint(volume *os.File, point string) error {
	info, err := volume.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(point, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(point), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(point, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// mountFile mounts the open file or directory, with all that is mounted below it, at the mount point. The copy is private: to unmount
// it unmounts nothing of the host's. With a user namespace the files keep on disk the ids that they have for the container.
func mountFile(file *os.File, point string, readOnly bool, ids *os.File) error {
	tree, err := unix.OpenTree(int(file.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("this kernel cannot copy the mount: %w; host directories need Linux 5.6", err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	if readOnly {
		attr.Attr_set = unix.MOUNT_ATTR_RDONLY
	}
	if ids != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(ids.Fd())
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if err != nil && ids != nil {
		return fmt.Errorf("its file system, or one that is mounted below it, cannot be mounted for the ids of a user namespace: %w; "+
			"mount another, or run the task where user namespaces are not asked for", err)
	}
	old := errors.Is(err, unix.ENOSYS) // before 5.12
	if err != nil && !old {
		return fmt.Errorf("make the mount private: %w", err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, point, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if !old {
		return nil
	}
	return restrictMount(point, readOnly)
}

// restrictMount does what the kernel did not do to the whole tree at once: a mount that is read-only but for what is mounted below
// it is refused.
func restrictMount(point string, readOnly bool) error {
	if err := unix.Mount("", point, "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make the mount private: %w", err)
	}
	if !readOnly {
		return nil
	}
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(point))
	if err != nil {
		return err
	}
	if len(mounts) > 1 {
		return fmt.Errorf("it has other mounts below it, and this kernel is older than 5.12 and cannot make them read-only: mount it without readOnly, or one without mounts in it")
	}
	if err := unix.Mount("", point, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make the mount read-only: %w", err)
	}
	return nil
}

// release unmounts the staged volumes: the container has mounts of its own by now.
func (m *volumeMounts) release() error {
	if len(m.points) == 0 {
		return nil
	}
	for _, point := range m.points {
		if err := unmountAll(point); err != nil {
			return err
		}
	}
	m.points = nil
	return removeMountPoints(m.dir)
}

// unmountAll unmounts the mount point with all mounts below. It makes the mounts private before, also those that a crash left
// half made: where a mount below is shared with the host, to unmount it would unmount the host's.
func unmountAll(point string) error {
	for {
		err := unix.Mount("", point, "", unix.MS_PRIVATE|unix.MS_REC, "")
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return nil // nothing is mounted there
		}
		if err == nil {
			err = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		if err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
}

// removeMountPoints removes a directory of empty mount points. It never removes what is in one: that could be the host's.
func removeMountPoints(dir string) error {
	points, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, point := range points {
		if err := removeMountPoint(filepath.Join(dir, point.Name()), point.IsDir()); err != nil {
			return err
		}
	}
	if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

func removeMountPoint(path string, dir bool) error {
	if dir {
		return os.NewSyscallError("rmdir", unix.Rmdir(path))
	}
	return os.NewSyscallError("unlink", unix.Unlink(path))
}

// sweep removes the remains of a crash in the middle of a start.
func (s volumeStaging) sweep() error {
	starts, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, start := range starts {
		dir := filepath.Join(s.dir, start.Name())
		points, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, point := range points {
			if err := unmountAll(filepath.Join(dir, point.Name())); err != nil {
				return err
			}
		}
		if err := removeMountPoints(dir); err != nil {
			return err
		}
	}
	return nil
}

// checkNamespace refuses a containerd that does not see the mounts of this process: it would give the container an empty directory.
func (s volumeStaging) checkNamespace() error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", daemon.SocketOwner(s.daemon)))
	if err != nil || own != theirs {
		return fmt.Errorf("containerd at %s is not in the mount namespace of pinion, so it cannot be given directories of the host: run both on the host, or in one container", s.daemon)
	}
	return nil
}

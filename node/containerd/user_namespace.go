package containerd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"pinion/node/containerd/daemon"
	"pinion/node/runtime"
)

// userNamespace is the user namespace of a container that is being started. The container keeps it alive from then on.
type userNamespace struct {
	file *os.File // nil: the container has none
	path string   // for runc
}

func (u userNamespace) close() error {
	if u.file == nil {
		return nil
	}
	return u.file.Close()
}

// tryUserNamespaces tries what a container with a user namespace needs of the kernel, the snapshotter and the file system of images. A
// kernel that cannot show the layers of an image with other ids would have them copied for each container.
func tryUserNamespaces(volumes volumeStaging, snapshotter, imageDir string) error {
	if snapshotter != "overlayfs" {
		return fmt.Errorf("user namespaces need the snapshotter overlayfs, and this host has %s", snapshotter)
	}
	if err := volumes.checkNamespace(); err != nil {
		return err
	}
	if err := checkSearchable(filepath.Dir(volumes.daemon)); err != nil {
		return err
	}
	if err := daemon.TryOverlay(imageDir, true); err != nil {
		return fmt.Errorf("an overlay with the ids of a user namespace cannot be mounted in %s: %w; user namespaces need Linux 5.19 and a file system such as ext4 or xfs", imageDir, err)
	}
	return nil
}

// checkSearchable refuses a directory that users of the host do not get through. Root of a user namespace is one of them, and its root
// file system is mounted below.
func checkSearchable(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("user namespaces: %w", err)
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("users of this host do not get through %s, as root of a user namespace has to: chmod o+x %s, which lets nobody list it, and start pinion again", dir, dir)
		}
		if dir == "/" {
			return nil
		}
	}
}

// openUserNamespace finds the user namespace that the container's network namespace belongs to, or makes one: root of another could
// neither mount sysfs nor set net.* controls in it.
func (s *startOperation) openUserNamespace() (err error) {
	if s.spec.IDs.IsZero() {
		return nil
	}
	if s.runtime.noUserns != nil {
		return s.runtime.noUserns
	}
	if s.spec.Network == hostNetwork {
		return errors.New("a container in a user namespace has a network namespace that belongs to it, so networkMode host is refused")
	}
	if s.spec.Network == noNetwork {
		s.userns.file, err = makeUserNamespace(s.spec.IDs)
	} else {
		s.userns.file, err = ownerOf(s.spec.Network)
	}
	if err != nil {
		return fmt.Errorf("user namespace: %w", err)
	}
	s.volumes.ids = s.userns.file
	if s.userns.path, err = s.volumes.pin(s.userns.file); err != nil {
		return fmt.Errorf("user namespace: %w", err)
	}
	return nil
}

// makeUserNamespace makes one in a process that never runs a program: it stops before its first instruction. The library's own forbids
// setgroups in it, so that users had none of their groups.
func makeUserNamespace(ids runtime.IDRange) (*os.File, error) {
	goruntime.LockOSThread() // which traces the process
	defer goruntime.UnlockOSThread()
	mapping := []syscall.SysProcIDMap{{HostID: int(ids.First), Size: runtime.IDRangeSize}}
	process, err := os.StartProcess("/proc/self/exe", []string{"pinion-namespace"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: mapping, GidMappings: mapping, GidMappingsEnableSetgroups: true,
		Ptrace: true, Pdeathsig: unix.SIGKILL,
	}})
	if err != nil {
		return nil, err
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", process.Pid))
	killed := process.Kill()
	_, waited := process.Wait()
	return file, errors.Join(err, killed, waited)
}

// ownerOf opens the user namespace that a network namespace belongs to.
func ownerOf(network string) (*os.File, error) {
	namespace, err := os.Open(network)
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	owner, err := unix.IoctlRetInt(int(namespace.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return nil, fmt.Errorf("that %s belongs to: %w", network, err)
	}
	return os.NewFile(uintptr(owner), "user namespace"), nil
}

// pin mounts a namespace where runc finds it, as long as the start lasts.
func (m *volumeMounts) pin(namespace *os.File) (string, error) {
	point, err := m.point(namespace)
	if err != nil {
		return "", err
	}
	return point, unix.Mount(fmt.Sprintf("/proc/self/fd/%d", namespace.Fd()), point, "", unix.MS_BIND, "")
}

// snapshotLabels are the labels of the container's writable layer. With a user namespace the layer is root's of that, and overlayfs
// shows the layers below with its ids.
func (s *startOperation) snapshotLabels() map[string]string {
	labels := map[string]string{labelRoot: time.Now().UTC().Format(time.RFC3339), labelTask: s.spec.Task.ID}
	if !s.spec.IDs.IsZero() {
		labels[snapshots.LabelSnapshotUIDMapping] = s.spec.IDs.Mapping()
		labels[snapshots.LabelSnapshotGIDMapping] = s.spec.IDs.Mapping()
	}
	return labels
}

// ownFile is a file or directory of Pinion's own, as a volume of the host.
type ownFile string

var _ runtime.HostVolume = ownFile("")

// Open implements runtime.HostVolume.
func (f ownFile) Open() (*os.File, error) {
	fd, err := unix.Open(string(f), unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: string(f), Err: err}
	}
	return os.NewFile(uintptr(fd), string(f)), nil
}

// mountDevices makes nodes for the devices of the spec and has runc mount them: in a user namespace it can make none, and would mount
// whatever the host has at the path that a device has in the container.
func (b *specBuilder) mountDevices(s *specs.Spec) error {
	for _, device := range s.Linux.Devices {
		node, err := b.volumes.makeDevice(device, b.spec.IDs)
		if err != nil {
			return fmt.Errorf("device %s: %w", device.Path, err)
		}
		b.mount(s, specs.Mount{Destination: device.Path, Type: "bind", Source: node, Options: []string{"bind", "rprivate"}})
	}
	s.Linux.Devices = nil
	return nil
}

// makeDevice makes a node that belongs to root of the user namespace, or to whom the device says, as long as the start lasts.
func (m *volumeMounts) makeDevice(device specs.LinuxDevice, ids runtime.IDRange) (string, error) {
	mode, owner, group := uint32(0o666), 0, 0
	if device.FileMode != nil {
		mode = uint32(device.FileMode.Perm())
	}
	if device.UID != nil && device.GID != nil {
		owner, group = int(*device.UID), int(*device.GID)
	}
	kind := uint32(unix.S_IFCHR)
	if device.Type == "b" {
		kind = unix.S_IFBLK
	}
	if max(owner, group) >= runtime.IDRangeSize {
		return "", fmt.Errorf("its user %d or its group %d is none of the user namespace", owner, group)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return "", err
	}
	point := filepath.Join(m.dir, strconv.Itoa(len(m.points)))
	m.points = append(m.points, point)
	return point, errors.Join(
		unix.Mknod(point, kind|mode, int(unix.Mkdev(uint32(device.Major), uint32(device.Minor)))),
		os.Chown(point, int(ids.First)+owner, int(ids.First)+group),
		os.Chmod(point, os.FileMode(mode)), // past the umask
	)
}

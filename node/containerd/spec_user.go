package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"
)

// maxUserFile bounds /etc/passwd and /etc/group of an image, in bytes.
const maxUserFile = 16 << 20

// user resolves names in the image's own /etc/passwd and /etc/group. Root needs no lookup.
//
// containerd's library would open whatever these names lead to as root of the host: a pipe blocks it for ever, a device does what its
// driver does when it is opened.
func (b *specBuilder) user(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	asked := firstOf(b.spec.Def.User, b.img.Config.User)
	name, group, _ := strings.Cut(asked, ":")
	if (name == "" || name == "0" || name == "root") && (group == "" || group == "0" || group == "root") {
		return nil
	}
	mounts, err := client.SnapshotService(c.Snapshotter).Mounts(ctx, c.SnapshotKey)
	if err != nil {
		return err
	}
	var unknown error // by itself: what else fails is no fault of the image
	err = mount.WithReadonlyTempMount(ctx, mounts, func(root string) error {
		unknown = setUser(s, asked, root)
		return nil
	})
	if err = errors.Join(err, unknown); err != nil {
		return fmt.Errorf("user %q in image %s: %w", asked, b.spec.Image.Ref, err)
	}
	return nil
}

// setUser looks the user up in the image that is mounted at root.
func setUser(s *oci.Spec, asked, root string) error {
	passwd, err := openUserFile(root, "etc/passwd")
	if err != nil {
		return err
	}
	defer passwd.Close()
	group, err := openUserFile(root, "etc/group")
	if err != nil {
		return err
	}
	defer group.Close()
	found, err := user.GetExecUser(asked, nil, passwd, group)
	if err != nil {
		return err
	}
	s.Process.User.UID, s.Process.User.GID = uint32(found.Uid), uint32(found.Gid)
	s.Process.User.AdditionalGids = []uint32{s.Process.User.GID}
	for _, gid := range found.Sgids {
		s.Process.User.AdditionalGids = append(s.Process.User.AdditionalGids, uint32(gid))
	}
	return nil
}

// openUserFile opens a file of the image, wherever links in the image lead to, without leaving the image. One that is missing is empty;
// one that is no regular file is refused before it is opened.
func openUserFile(root, name string) (io.ReadCloser, error) {
	dir, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, fmt.Errorf("open its /%s: %w", name, err)
	}
	path := os.NewFile(uintptr(fd), name)
	defer path.Close()
	if info, err := path.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxUserFile {
		return nil, errors.Join(err, fmt.Errorf("its /%s is no regular file of at most %d MiB", name, maxUserFile>>20))
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
}

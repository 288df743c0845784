package containerd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// ownNodes are the devices that every container has.
var ownNodes = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console", "/dev/ptmx"}

// hostDevices adds the devices of the host, after the GPUs and the mounts. A node is made in the container's own file system alone: in a
// directory of the host it would stay there, for whoever comes next.
func (b *specBuilder) hostDevices(s *oci.Spec) error {
	for _, d := range b.spec.Devices {
		path := filepath.Clean(d.Path)
		if slices.Contains(ownNodes, path) {
			return fmt.Errorf("device %s: every container has one of its own there", path)
		}
		if at := slices.IndexFunc(s.Linux.Devices, func(other specs.LinuxDevice) bool { return other.Path == path }); at >= 0 {
			if !isTrue(b.spec.Def.Privileged) { // which has all of them already
				return fmt.Errorf("device %s: the container has another device there", path)
			}
			s.Linux.Devices = slices.Delete(s.Linux.Devices, at, at+1)
		}
		over := func(m specs.Mount) bool {
			return m.Type == "bind" && (path == m.Destination || strings.HasPrefix(path, m.Destination+"/"))
		}
		if at := slices.IndexFunc(s.Mounts, over); at >= 0 {
			return fmt.Errorf("device %s: it would be made in what is mounted at %s; choose another containerPath", path, s.Mounts[at].Destination)
		}
		kind, mode := "c", d.Mode
		if d.Block {
			kind = "b"
		}
		s.Linux.Devices = append(s.Linux.Devices, specs.LinuxDevice{Path: path, Type: kind, Major: d.Major, Minor: d.Minor, FileMode: &mode, UID: &d.UID, GID: &d.GID})
		s.Linux.Resources.Devices = append(s.Linux.Resources.Devices, specs.LinuxDeviceCgroup{Allow: true, Type: kind, Major: &d.Major, Minor: &d.Minor, Access: d.Access})
	}
	return nil
}

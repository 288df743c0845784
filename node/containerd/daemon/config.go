package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"

	"pinion/packaging/atomicfile"
)

// disabledPlugins are containerd's plugins that Pinion does not use. They cost memory, open sockets, or run background
// work.
var disabledPlugins = []string{
	"io.containerd.cri.v1.images",
	"io.containerd.cri.v1.runtime",
	"io.containerd.differ.v1.erofs",
	"io.containerd.grpc.v1.cri",
	"io.containerd.grpc.v1.transfer",
	"io.containerd.image-verifier.v1.bindir",
	"io.containerd.internal.v1.opt",
	"io.containerd.internal.v1.tracing",
	"io.containerd.metrics.v1.grpc-prometheus",
	"io.containerd.monitor.container.v1.restart",
	"io.containerd.monitor.task.v1.cgroups",
	"io.containerd.mount-handler.v1.erofs",
	"io.containerd.nri.v1.nri",
	"io.containerd.podsandbox.controller.v1.podsandbox",
	"io.containerd.server.v1.debug",
	"io.containerd.server.v1.grpc-tcp",
	"io.containerd.server.v1.metrics",
	"io.containerd.snapshotter.v1.blockfile",
	"io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.devmapper",
	"io.containerd.snapshotter.v1.erofs",
	"io.containerd.snapshotter.v1.zfs",
	"io.containerd.tracing.processor.v1.otlp",
	"io.containerd.transfer.v1.local",
}

// writeConfig writes config.toml and reports whether it has changed.
func writeConfig(c Config, snapshotter string) (changed bool, err error) {
	disabled := disabledPlugins
	if snapshotter == "native" {
		disabled = append(disabled[:len(disabled):len(disabled)], "io.containerd.snapshotter.v1.overlayfs")
	}
	quoted := make([]string, len(disabled))
	for i, plugin := range disabled {
		quoted[i] = fmt.Sprintf("  %q,\n", plugin)
	}
	socket := filepath.Join(c.Dir, socketName)
	text := fmt.Appendf(nil, configTemplate, filepath.Join(c.Dir, "root"), filepath.Join(c.Dir, "state"),
		strings.Join(quoted, ""), socket, socket+".ttrpc")
	path := filepath.Join(c.Dir, configName)
	before, err := os.ReadFile(path)
	if err == nil && bytes.Equal(before, text) {
		return false, nil
	}
	return true, atomicfile.Write(path, text, 0o600)
}

// The timeout for loading a shim is long, because containerd gives up on a task whose shim is slow to answer after a
// restart.
const configTemplate = `# Written by Pinion at each start; changes here are lost.
version = 4
root = %q
state = %q
oom_score = -999
imports = []
disabled_plugins = [
%s]

[debug]
  level = "warn"

[timeouts]
  "io.containerd.timeout.bolt.open" = "20s"
  "io.containerd.timeout.shim.load" = "30s"

[plugins."io.containerd.server.v1.grpc"]
  address = %q

[plugins."io.containerd.server.v1.ttrpc"]
  address = %q
`

// chooseSnapshotter tests whether overlayfs works in dir. Otherwise it returns the native snapshotter, which copies every
// image for every container, and a note that says so.
func chooseSnapshotter(dir string) (name, note string) {
	if err := TryOverlay(dir, false); err != nil {
		return "native", fmt.Sprintf("overlayfs does not work in %s (%v): images are copied for each container, which is slow and takes space; use a data directory on ext4 or xfs", dir, err)
	}
	return "overlayfs", ""
}

// TryOverlay mounts an overlay in a directory, with the ids of a user namespace or without, and takes it away again.
func TryOverlay(dir string, userNamespace bool) error {
	base, err := os.MkdirTemp(dir, ".overlay-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			return err
		}
	}
	merged := filepath.Join(base, "merged")
	options := []string{"lowerdir=" + base + "/lower", "upperdir=" + base + "/upper", "workdir=" + base + "/work"}
	if userNamespace {
		const ids = "0:2147483648:65536"
		options = append(options, "uidmap="+ids, "gidmap="+ids)
	}
	if err := (&mount.Mount{Type: "overlay", Source: "overlay", Options: options}).Mount(merged); err != nil {
		return err
	}
	return unix.Unmount(merged, 0)
}

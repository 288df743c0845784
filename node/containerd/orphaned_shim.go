package containerd

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/containerd/containerd/v2/defaults"
)

// orphanedShims ends shims that containerd has forgotten.
type orphanedShims struct{ config *Config }

// end ends a shim of a container that containerd knows no task of. When Pinion is killed while containerd starts a shim,
// containerd kills the command that starts it, and forgets the shim if that runs already. Such a shim waits for ever for containerd to
// read its log, and has the socket of the container's next shim: containerd finds it there, takes it for that, and the start hangs.
// Without its socket, which costs one look, there is no such shim.
func (f orphanedShims) end(id string) error {
	socket := f.socket(id)
	if _, err := os.Lstat(socket); os.IsNotExist(err) {
		return nil
	}
	for _, pid := range f.processes(id) {
		f.config.Log.Warn("a shim that an earlier start has left is ended", "container", id, "pid", pid)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("end the shim %d that an earlier start of container %s has left: %w", pid, id, err)
		}
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("the socket that an earlier start of container %s has left: %w", id, err)
	}
	return nil
}

// socket is the socket on which containerd reaches the shim of a container (SocketAddress of containerd's package shim).
func (f orphanedShims) socket(id string) string {
	sum := sha256.Sum256([]byte(filepath.Join(f.config.Address, f.config.Namespace, id)))
	return filepath.Join(defaults.DefaultStateDir, "s", fmt.Sprintf("%x", sum))
}

// processes are the processes that serve a container of this containerd, by their command lines.
func (f orphanedShims) processes(id string) (pids []int) {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		line, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		has := func(option, value string) bool {
			i := slices.Index(args, option)
			return i >= 0 && i+1 < len(args) && args[i+1] == value
		}
		if strings.HasPrefix(filepath.Base(args[0]), "containerd-shim-runc-v2") && has("-id", id) && has("-namespace", f.config.Namespace) && has("-address", f.config.Address) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

package network

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// newSandbox returns a random name for a namespace, because a prewarmed one has no container yet.
func newSandbox() string {
	var b [8]byte
	rand.Read(b[:])
	return "ns-" + hex.EncodeToString(b[:])
}

// createNamespace creates a network namespace with its loopback up; a bind mount at path keeps it alive. With ids it belongs to a
// user namespace of its own, which it keeps alive: root of that may mount sysfs and set net.* controls in it, and root of another may not.
func createNamespace(path string, ids runtime.IDRange) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	file.Close()
	if ids.IsZero() {
		return onThread(func() error { return unshareOnto(path) })
	}
	if err := unshareInUserNamespace(path, ids); err != nil {
		return fmt.Errorf("network namespace of a user namespace: %w", err)
	}
	return onThread(func() error { return startLoopback(path) })
}

// onThread runs f on a thread of its own. It is never unlocked, so the Go runtime ends it instead of running other goroutines in the
// namespace that f has entered.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		goruntime.LockOSThread()
		done <- f()
	}()
	return <-done
}

func unshareOnto(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	if err := setFlags("lo", unix.IFF_UP); err != nil {
		return fmt.Errorf("network namespace: loopback: %w", err)
	}
	if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("network namespace: mount at %s: %w", path, err)
	}
	return nil
}

// unshareInUserNamespace makes both namespaces in a process that never runs a program: it stops before its first instruction. The user
// namespace is root's, who has every capability in it, also on a machine that keeps some from root.
func unshareInUserNamespace(path string, ids runtime.IDRange) error {
	mapping := []syscall.SysProcIDMap{{HostID: int(ids.First), Size: runtime.IDRangeSize}}
	return onThread(func() error { // the process belongs to the thread that traces it, and ends with it
		process, err := os.StartProcess("/proc/self/exe", []string{"pinion-namespace"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, Unshareflags: unix.CLONE_NEWNET, UidMappings: mapping, GidMappings: mapping, GidMappingsEnableSetgroups: true,
			Ptrace: true, Pdeathsig: unix.SIGKILL,
		}})
		if err != nil {
			return err
		}
		err = unix.Mount(fmt.Sprintf("/proc/%d/ns/net", process.Pid), path, "", unix.MS_BIND, "")
		killed := process.Kill()
		_, waited := process.Wait()
		return errors.Join(err, killed, waited)
	})
}

// startLoopback starts the loopback of the namespace at path, which the calling thread enters.
func startLoopback(path string) error {
	namespace, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace: enter %s: %w", path, err)
	}
	if err := setFlags("lo", unix.IFF_UP); err != nil {
		return fmt.Errorf("network namespace: loopback: %w", err)
	}
	return nil
}

// nsfsMagic is the file system type of namespace files, see statfs(2).
const nsfsMagic = 0x6e736673

// isNamespace distinguishes a mounted namespace from the plain file that remains after a reboot.
func isNamespace(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Type == nsfsMagic
}

// removeNamespace unmounts and removes a namespace. It is idempotent.
func removeNamespace(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("network namespace: unmount %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("network namespace: %w", err)
	}
	return nil
}

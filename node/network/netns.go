package network

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// newSandbox returns a random name for a namespace, because a prewarmed one has no container yet.
func newSandbox() string {
	var b [8]byte
	rand.Read(b[:])
	return "ns-" + hex.EncodeToString(b[:])
}

// createNamespace creates a network namespace with its loopback up; a bind mount at path keeps it alive.
func createNamespace(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	file.Close()
	made := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so the Go runtime ends it instead of running other goroutines in this namespace.
		runtime.LockOSThread()
		made <- unshareOnto(path)
	}()
	return <-made
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

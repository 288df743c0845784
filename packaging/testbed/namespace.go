package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespacePath is the file in which `ip netns` keeps a namespace.
func namespacePath(name string) string { return filepath.Join("/run/netns", name) }

// inNamespace runs f on a thread of its own in the network namespace and, unless hostname is empty, in a new UTS namespace
// with that host name. Processes that f starts inherit both. `ip netns exec` would not do: it also gives a new mount
// namespace with another /sys, without cgroups.
func inNamespace(namespace, hostname string, f func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so the runtime ends it instead of running other goroutines in here.
		runtime.LockOSThread()
		err := enterNamespaces(namespace, hostname)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func enterNamespaces(namespace, hostname string) error {
	file, err := os.Open(namespacePath(namespace))
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace %s: %w", namespace, err)
	}
	if hostname == "" {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("a host name for %s: %w", hostname, err)
	}
	return unix.Sethostname([]byte(hostname))
}

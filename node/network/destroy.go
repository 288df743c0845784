package network

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Destroy takes down everything that Open and Attach have made for a data directory: namespaces, published ports,
// packet filter rules, the bridge, and the state. No container may use it any more. It may be repeated.
func Destroy(ctx context.Context, cniDir, stateDir string) error {
	b, err := Open(cniDir, stateDir)
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	all, err := b.records.all()
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := b.takeDown(ctx, r); err != nil {
			return err
		}
	}
	if err := b.removePlace(); err != nil {
		return err
	}
	return os.RemoveAll(b.dir)
}

// removePlace removes the bridge of this data directory and the rules of its subnet, when there ever was one.
func (b *Bridge) removePlace() error {
	if b.place == nil {
		return nil
	}
	if b.firewall != nil {
		if err := b.firewall.shut(*b.place); err != nil {
			return err
		}
	}
	if err := setDown(b.place.Bridge); err != nil {
		return err
	}
	if err := bridgeIoctl(unix.SIOCBRDELBR, b.place.Bridge); err != nil && err != unix.ENXIO {
		return fmt.Errorf("removing bridge %s: %w", b.place.Bridge, err)
	}
	return nil
}

// setDown takes an interface out of service, which the kernel wants before a bridge is removed. Nil when there is
// none of that name.
func setDown(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err == unix.ENODEV {
		return nil
	} else if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	request.SetUint16(request.Uint16() &^ unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("taking interface %s down: %w", name, err)
	}
	return nil
}

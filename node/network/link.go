package network

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// claimBridge creates the bridge interface. The kernel gives a name to one caller only, so two data directories never get
// the same bridge. It returns false when the name is taken.
func claimBridge(name string) (bool, error) {
	err := bridgeIoctl(unix.SIOCBRADDBR, name)
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("bridge %s: %w; bridge networking needs the kernel's bridge module and CAP_NET_ADMIN", name, err)
	}
	return true, nil
}

// removeBridge removes the bridge. It is idempotent.
func removeBridge(name string) error {
	err := setFlags(name, 0) // the kernel removes a bridge only when it is down
	if err == nil {
		err = bridgeIoctl(unix.SIOCBRDELBR, name)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("remove bridge %s: %w", name, err)
	}
	return nil
}

// setFlags sets the flags of an interface in the network namespace of the calling thread.
func setFlags(name string, flags uint16) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(flags)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func bridgeIoctl(request uintptr, name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	cname, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), request, uintptr(unsafe.Pointer(cname))); errno != 0 {
		return errno
	}
	return nil
}

// routedPrefixes reads the IPv4 routes of this machine except the default route. When they cannot be read, it returns none,
// and the addresses of the interfaces have to do.
func routedPrefixes() []netip.Prefix {
	file, err := os.Open("/proc/net/route")
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []netip.Prefix
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if p, ok := parseRoute(lines.Text()); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseRoute reads one line: interface, destination, gateway, flags, ..., mask (field 7), numbers in hexadecimal and
// little-endian.
func parseRoute(line string) (netip.Prefix, bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 {
		return netip.Prefix{}, false
	}
	destination, err1 := hex.DecodeString(fields[1])
	mask, err2 := hex.DecodeString(fields[7])
	if err1 != nil || err2 != nil || len(destination) != 4 || len(mask) != 4 {
		return netip.Prefix{}, false
	}
	length := bits.OnesCount32(binary.BigEndian.Uint32(mask))
	if length == 0 {
		return netip.Prefix{}, false
	}
	address := netip.AddrFrom4([4]byte{destination[3], destination[2], destination[1], destination[0]})
	return netip.PrefixFrom(address, length).Masked(), true
}

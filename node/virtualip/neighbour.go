package virtualip

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The parts of a neighbour advertisement (RFC 4861).
const (
	advertisement   = 136
	overrides       = 0x20 // the address is here, whatever others knew
	linkAddress     = 2    // option: the hardware address of the target
	linkOptionUnits = 1    // of eight bytes
	fromNeighbour   = 255  // hops: no router has forwarded it
)

// advertise tells the machines of the device's network that an address of IPv6 is here now.
func advertise(device *netlink.LinkAttrs, ip netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6)
	if err != nil {
		return fmt.Errorf("a socket for neighbour discovery: %w", err)
	}
	defer unix.Close(fd)
	packet := append([]byte{advertisement, 0, 0, 0, overrides, 0, 0, 0}, ip.AsSlice()...) // the kernel fills in the checksum
	packet = append(append(packet, linkAddress, linkOptionUnits), device.HardwareAddr...)
	all := netip.IPv6LinkLocalAllNodes().As16()
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, device.Index),
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, fromNeighbour),
		unix.Bind(fd, &unix.SockaddrInet6{Addr: ip.As16()}),
	)
	if err == nil {
		err = unix.Sendto(fd, packet, 0, &unix.SockaddrInet6{Addr: all, ZoneId: uint32(device.Index)})
	}
	if err != nil {
		return fmt.Errorf("neighbour discovery on %s: %w", device.Name, err)
	}
	return nil
}

package traffic

import (
	"errors"
	"net/netip"
)

// DefaultVirtualRange is the range of the virtual addresses of hosts unless they are told otherwise: the range of RFC 2544, for tests of networks that
// are apart.
var DefaultVirtualRange = netip.MustParsePrefix("198.18.0.0/15")

// VirtualInterface is the name of both ends of the link between a host and its virtual addresses.
const VirtualInterface = "pinion-virtual"

// ErrOwnNetwork refuses an address as a target: it means another machine on each host, or what only the host itself may reach. A proxy would turn
// its clients to that.
var ErrOwnNetwork = errors.New("it means something else on each host, such as the host itself, its link, a metadata service or a virtual address")

// metadataIPv6 is the address at which clouds answer a machine for itself over IPv6. Over IPv4 that is an address of the link.
var metadataIPv6 = netip.MustParseAddr("fd00:ec2::254")

// carriers are the ranges of IPv6 whose addresses mean one of IPv4 that is in them, and at which byte.
var carriers = map[netip.Prefix]int{
	netip.MustParsePrefix("::/96"):        12, // IPv4-compatible
	netip.MustParsePrefix("64:ff9b::/96"): 12, // NAT64
	netip.MustParsePrefix("2002::/16"):    2,  // 6to4
}

// CheckTargetAddress returns ErrOwnNetwork for an address that is none that all hosts reach as the same, where the host has its virtual addresses in
// that range. Who records a target asks it, and each proxy before it connects to one.
func CheckTargetAddress(ip netip.Addr, virtual netip.Prefix) error {
	ip = ip.Unmap()
	if ip.Zone() != "" || ip.IsUnspecified() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip == metadataIPv6 || virtual.Contains(ip) {
		return ErrOwnNetwork
	}
	if carried := Carried(ip); carried != ip {
		return CheckTargetAddress(carried, virtual)
	}
	return nil
}

// Carried is the address of IPv4 that one of IPv6 means, and every other address itself.
func Carried(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	for prefix, at := range carriers {
		if prefix.Contains(ip) {
			text := ip.As16()
			return netip.AddrFrom4([4]byte(text[at : at+4]))
		}
	}
	return ip
}

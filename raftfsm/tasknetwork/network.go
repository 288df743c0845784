// Package tasknetwork has the words for networks whose addresses belong to tasks: those of networkMode awsvpc. Each host that has such a network
// gets a part of it from the pool, its subnet, and gives its tasks addresses of that.
package tasknetwork

import (
	"fmt"
	"net/netip"
	"strings"
)

// DefaultName is that of a network which was given none. It stands in the place of ECS's subnet id.
const DefaultName = "default"

// SubnetBits is the size of the subnet of a host: a /24, of which 253 tasks have addresses.
const SubnetBits = 24

// MinBits is the size of the largest network: with more hosts than 65,536 it would be too small.
const MinBits = 8

// maxName bounds the name of a network.
const maxName = 64

// Network is the network of tasks of one host, as its operator has named it. Networks of hosts with the same name and the same range are one.
type Network struct {
	Name  string `json:"name"`
	Range string `json:"range"` // as netip.Prefix prints it, IPv4, masked
	// Subnet is the part of the range that is this host's, and no other's; empty: the range had none left. The pool alone says it.
	Subnet string `json:"subnet,omitempty"`
}

// Parse reads what is given to `pinion up --task-network`: "RANGE" or "NAME=RANGE", the range as CIDR block of private addresses.
func Parse(text string) (Network, error) {
	name, block, named := strings.Cut(text, "=")
	if !named {
		name, block = DefaultName, text
	}
	prefix, err := netip.ParsePrefix(block)
	switch {
	case err != nil || !prefix.Addr().Is4():
		return Network{}, fmt.Errorf("%q is no range of IPv4 addresses: give one like 10.32.0.0/16", block)
	case prefix != prefix.Masked():
		return Network{}, fmt.Errorf("%s is an address in %s: give the range itself", block, prefix.Masked())
	case prefix.Bits() < MinBits || prefix.Bits() > SubnetBits:
		return Network{}, fmt.Errorf("%s has %d bits: give a range of %d to %d, each host gets a /%d of it", block, prefix.Bits(), MinBits, SubnetBits, SubnetBits)
	case !isPrivate(prefix):
		return Network{}, fmt.Errorf("%s is not a range of private addresses: give a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10 that your machines do not use", block)
	}
	return Network{Name: name, Range: prefix.String()}, CheckName(name)
}

// CheckName refuses what is no name of a network: 1 to 64 letters, digits, and "-", "_" and "." behind the first.
func CheckName(name string) error {
	allowed := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
	}
	if name == "" || len(name) > maxName || strings.IndexFunc(name, func(c rune) bool { return !allowed(c) }) >= 0 || strings.ContainsAny(name[:1], "-_.") {
		return fmt.Errorf("%q is no name of a network: use 1 to %d letters, digits, \"-\", \"_\" and \".\", the first a letter or digit", name, maxName)
	}
	return nil
}

// private are the ranges that are nobody's on the internet: of RFC 1918, and of RFC 6598.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
}

func isPrivate(p netip.Prefix) bool {
	for _, all := range private {
		if all.Bits() <= p.Bits() && all.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// String is the network as it is given to `pinion up`.
func (n Network) String() string { return n.Name + "=" + n.Range }

// Same reports whether both are one network, whichever hosts they are of.
func (n *Network) Same(o *Network) bool {
	return n != nil && o != nil && n.Name == o.Name && n.Range == o.Range
}

// Owns reports whether the address is in the subnet of the host; nil has none.
func (n *Network) Owns(address string) bool {
	if n == nil {
		return false
	}
	subnet, err := netip.ParsePrefix(n.Subnet)
	a, bad := netip.ParseAddr(address)
	return err == nil && bad == nil && subnet.Contains(a)
}

// Has reports whether the subnet, a CIDR block, is one that hosts get of the network.
func (n Network) Has(subnet string) bool {
	all, err := netip.ParsePrefix(n.Range)
	part, bad := netip.ParsePrefix(subnet)
	return err == nil && bad == nil && part.Bits() == SubnetBits && part == part.Masked() && all.Contains(part.Addr())
}

// Assign returns the network with the first subnet of its range that overlaps none of those taken, which are CIDR blocks; with an empty one when
// there is none. The host's own word for its subnet does not count.
func (n Network) Assign(taken map[string]bool) *Network {
	n.Subnet = ""
	all, err := netip.ParsePrefix(n.Range)
	if err != nil || all.Bits() < MinBits || all.Bits() > SubnetBits {
		return &n
	}
	for subnet := netip.PrefixFrom(all.Masked().Addr(), SubnetBits); all.Contains(subnet.Addr()); subnet = next(subnet) {
		if !taken[subnet.String()] {
			n.Subnet = subnet.String()
			break
		}
	}
	return &n
}

// next is the subnet behind one; behind the last it is the zero one, which no range contains.
func next(subnet netip.Prefix) netip.Prefix {
	a := subnet.Addr().As4()
	for i := SubnetBits/8 - 1; i >= 0; i-- {
		if a[i]++; a[i] != 0 {
			return netip.PrefixFrom(netip.AddrFrom4(a), SubnetBits)
		}
	}
	return netip.Prefix{}
}

// Gateway is the first address of a subnet, which its host has.
func Gateway(subnet string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(subnet)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("subnet %q: %w", subnet, err)
	}
	return netip.PrefixFrom(p.Addr().Next(), p.Bits()), nil
}

// Route is the way to the tasks of one host.
type Route struct {
	Network string `json:"network"` // Network.Name
	Range   string `json:"range"`   // Network.Range
	Subnet  string `json:"subnet"`
	HostID  string `json:"hostId"`
	Via     string `json:"via"` // address of the host, without a port
}

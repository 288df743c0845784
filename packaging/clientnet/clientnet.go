// Package clientnet says which clients count as one where limits are per address.
package clientnet

import "net/netip"

// Prefix is the network that counts as one address: an IPv4 address, or the /64 of an IPv6 address, all of which one client may
// have. remote is host:port, as net.Conn and http.Request have it. Whatever has no such address, such as a unix socket, counts
// as one: the zero Prefix.
func Prefix(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	bits, address := 32, at.Addr().Unmap().WithZone("")
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // both lengths are possible
	return network
}

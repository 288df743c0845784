package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"pinion/raftfsm/tasknetwork"
)

// routeProtocol marks the routes that are Pinion's, as each program that sets routes has a number of its own (rtnetlink(7)); no other is known to use it.
const routeProtocol = 75

// setRoutes gives the kernel the routes to the subnets of other hosts, and removes those within the range that are not among them. The error tells
// all that failed.
func setRoutes(within string, routes []tasknetwork.Route) error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("addresses of this host: %w", err)
	}
	wanted, failed := map[string]bool{}, []error(nil)
	for _, r := range routes {
		wanted[r.Subnet] = true
		if err := setRoute(r, own); err != nil {
			failed = append(failed, fmt.Errorf("tasks of host %s in %s are not reached: %w; hosts of a network of tasks have to be neighbours in one network, or routers between them have to know the subnets", r.HostID, r.Subnet, err))
		}
	}
	return errors.Join(append(failed, removeRoutes(within, wanted))...)
}

// setRoute has packets for a subnet go to its host, unless that one is on this machine, by the addresses of its own.
func setRoute(r tasknetwork.Route, own []net.Addr) error {
	via, err := netip.ParseAddr(r.Via)
	if err != nil || !via.Is4() {
		return fmt.Errorf("the address of the host, %q, is not one of IPv4", r.Via)
	}
	subnet, err := netip.ParsePrefix(r.Subnet)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(own, func(a net.Addr) bool { p, err := netip.ParsePrefix(a.String()); return err == nil && p.Addr() == via }) {
		return nil
	}
	return netlink.RouteReplace(&netlink.Route{Dst: ipNet(subnet), Gw: net.IP(via.AsSlice()), Protocol: routeProtocol})
}

// removeRoutes removes Pinion's routes to subnets of the range that are not wanted.
func removeRoutes(within string, wanted map[string]bool) error {
	all, err := netip.ParsePrefix(within)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("routes of this host: %w", err)
	}
	var failed []error
	for i := range routes {
		dst := routes[i].Dst
		if dst == nil {
			continue
		}
		subnet, err := netip.ParsePrefix(dst.String())
		if err != nil || !all.Overlaps(subnet) || wanted[dst.String()] {
			continue
		}
		if err := netlink.RouteDel(&routes[i]); err != nil {
			failed = append(failed, fmt.Errorf("route to %s: %w", dst, err))
		}
	}
	return errors.Join(failed...)
}

// setAddress gives the bridge an address, which the bridge plugin finds there, and raises it.
func (b *Bridge) setAddress(a netip.Prefix) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.config == nil {
		return errors.New("the bridge was removed")
	}
	if _, err := claimBridge(b.config.Bridge); err != nil { // it is there, unless the machine was started anew
		return err
	}
	link, err := netlink.LinkByName(b.config.Bridge)
	if err == nil {
		err = netlink.AddrReplace(link, &netlink.Addr{IPNet: ipNet(a)})
	}
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("bridge %s: %w", b.config.Bridge, err)
	}
	return nil
}

// setRange has the rules of the bridge name another range, with the next ensure; the subnet stays.
func (b *Bridge) setRange(to string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.config == nil || b.config.Range == to || to == "" {
		return nil
	}
	if b.firewall != nil {
		if err := b.firewall.removeRules(*b.config); err != nil {
			return err
		}
	}
	changed := *b.config
	changed.Range = to
	if err := writeBridgeConfig(b.configFile(), changed); err != nil {
		return err
	}
	b.config, b.ensured = &changed, false
	return nil
}

// subnet is the subnet of the bridge; empty: there is none yet.
func (b *Bridge) subnet() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.config == nil {
		return ""
	}
	return b.config.Subnet
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

package names

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"pinion/raftfsm/traffic"
)

// network has the virtual addresses of a host: in a network namespace of their own, so that a port there and the same port of the host, which a
// task or a program may have, are two. Only the process holds the namespace, so that nothing remains of it, however the process ends.
type network struct {
	addresses netip.Prefix // virtual ones: the lower half of the range
	gateway   netip.Addr   // the host's address at the link: the first one of the upper half

	mu       sync.Mutex
	ns       netns.NsHandle // closed: there is none
	answered []netip.Prefix // from which addresses this host's containers call
}

// newNetwork makes one of a range of addresses. Nothing is made on the host until something listens.
func newNetwork(all netip.Prefix) (*network, error) {
	if !all.Addr().Is4() || all.Bits() > maxPrefix || all != all.Masked() {
		return nil, fmt.Errorf("the range %v of virtual addresses is not a network of IPv4 with %d addresses or more, such as %v", all, 1<<(32-maxPrefix), traffic.DefaultVirtualRange)
	}
	lower := netip.PrefixFrom(all.Addr(), all.Bits()+1)
	return &network{addresses: lower, gateway: addressAt(all, 1<<(31-all.Bits())+1), ns: netns.None()}, nil
}

// address is the virtual address of a number.
func (n *network) address(number int) (netip.Addr, error) {
	if number < 1 || number >= 1<<(32-n.addresses.Bits()) {
		return netip.Addr{}, fmt.Errorf("the range of virtual addresses of this host has none of number %d: give it a larger one with --virtual-addresses", number)
	}
	return addressAt(n.addresses, number), nil
}

func addressAt(p netip.Prefix, number int) netip.Addr {
	bytes := p.Addr().As4()
	binary.BigEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(bytes[:])+uint32(number))
	return netip.AddrFrom4(bytes)
}

// listen runs f, which opens sockets, in the namespace.
func (n *network) listen(f func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ns.IsOpen() {
		if err := n.open(); err != nil {
			return fmt.Errorf("virtual addresses: %w", err)
		}
	}
	return onThread(func() error {
		if err := netns.Set(n.ns); err != nil {
			return fmt.Errorf("virtual addresses: enter their network namespace: %w", err)
		}
		return f()
	})
}

// answer has the namespace answer a subnet of the host's containers, which call by their own addresses.
func (n *network) answer(subnet netip.Prefix) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.answered, subnet) {
		return nil
	}
	if n.ns.IsOpen() {
		inside, err := netlink.NewHandleAt(n.ns)
		if err != nil {
			return fmt.Errorf("network namespace of the virtual addresses: %w", err)
		}
		defer inside.Close()
		peer, err := inside.LinkByName(traffic.VirtualInterface)
		if err == nil {
			err = n.addRoute(inside, peer, subnet)
		}
		if err != nil {
			return fmt.Errorf("virtual addresses: route to containers of %v: %w", subnet, err)
		}
	}
	n.answered = append(n.answered, subnet)
	return nil
}

// addRoute sets the route of the namespace to containers of the host, through the host.
func (n *network) addRoute(inside *netlink.Handle, peer netlink.Link, subnet netip.Prefix) error {
	return inside.RouteReplace(&netlink.Route{LinkIndex: peer.Attrs().Index, Dst: ipNet(subnet), Gw: n.gateway.AsSlice()})
}

// close removes the addresses, once the sockets there are closed.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ns.IsOpen() {
		_ = n.ns.Close() // the kernel removes the rest
	}
}

// open makes the namespace and the link to it. It refuses a range that this host has another route to.
func (n *network) open() error {
	if err := n.checkFree(); err != nil {
		return err
	}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("network namespace: %w", err)
		}
		n.ns, err = netns.Get()
		return err
	})
	if err == nil {
		err = n.connect()
	}
	if err != nil && n.ns.IsOpen() {
		_ = n.ns.Close()
	}
	return err
}

// checkFree looks at the routes of the host, but for those of the whole world.
func (n *network) checkFree() error {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("routes of this host: %w", err)
	}
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		ones, _ := route.Dst.Mask.Size()
		to, _ := netip.AddrFromSlice(route.Dst.IP.To4())
		if taken := netip.PrefixFrom(to, ones); ones > 0 && (taken.Overlaps(n.addresses) || taken.Contains(n.gateway)) {
			return fmt.Errorf("this host has a route to %v already: give pinion up another range with --virtual-addresses, or end the other pinion of this machine", taken)
		}
	}
	return nil
}

// connect makes the link: on the host a route to the virtual addresses, and in the namespace, where all of them are local, those to the host and
// its containers alone. What others on the network of the host send there is never answered.
func (n *network) connect() error {
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: traffic.VirtualInterface}, PeerName: traffic.VirtualInterface, PeerNamespace: netlink.NsFd(n.ns)}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("interface %s: %w", traffic.VirtualInterface, err)
	}
	inside, err := netlink.NewHandleAt(n.ns)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer inside.Close()
	resolver, err := n.address(resolverNumber)
	if err != nil {
		return err
	}
	host, err := up(netlink.LinkByName, netlink.LinkSetUp, traffic.VirtualInterface)
	peer, errPeer := up(inside.LinkByName, inside.LinkSetUp, traffic.VirtualInterface)
	loopback, errLo := up(inside.LinkByName, inside.LinkSetUp, "lo")
	if err := errors.Join(err, errPeer, errLo); err != nil {
		return err
	}
	err = errors.Join(
		netlink.AddrAdd(host, &netlink.Addr{IPNet: single(n.gateway)}),
		netlink.RouteAdd(&netlink.Route{LinkIndex: host.Attrs().Index, Dst: ipNet(n.addresses), Src: n.gateway.AsSlice(), Scope: netlink.SCOPE_LINK}),
		inside.RouteAdd(&netlink.Route{LinkIndex: loopback.Attrs().Index, Dst: ipNet(n.addresses), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST}),
		inside.RouteAdd(&netlink.Route{LinkIndex: peer.Attrs().Index, Dst: single(n.gateway), Src: resolver.AsSlice(), Scope: netlink.SCOPE_LINK}),
	)
	for _, subnet := range n.answered {
		err = errors.Join(err, n.addRoute(inside, peer, subnet))
	}
	return err
}

// up finds an interface and starts it.
func up(find func(string) (netlink.Link, error), start func(netlink.Link) error, name string) (netlink.Link, error) {
	link, err := find(name)
	if err == nil {
		err = start(link)
	}
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return link, nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

func single(a netip.Addr) *net.IPNet { return ipNet(netip.PrefixFrom(a, 32)) }

// onThread runs f on a thread of its own, which the Go runtime ends then: it does not run other goroutines in the namespace that f has entered.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		goruntime.LockOSThread()
		done <- f()
	}()
	return <-done
}

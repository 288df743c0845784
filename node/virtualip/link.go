package virtualip

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/iplease"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// link is the network device of this host that has an address. It is found anew each time: devices come and go.
type link struct {
	offer iplease.Offer
	ip    netip.Addr
}

// OnLink is the network device of an address that this host offers.
func OnLink(v iplease.Offer) Device {
	ip, _ := netip.ParseAddr(v.IP)
	return &link{v, ip}
}

// detection bounds the kernel's duplicate address detection of an IPv6 address.
const detection = 3 * time.Second

// Check finds the device, and asks its network who has the address. The kernel asks for one of IPv6 when it is added.
func (l *link) Check(ctx context.Context) error {
	device, err := l.find()
	if err != nil {
		return err
	}
	if l.ip.Is6() {
		return nil
	}
	return probe(ctx, device.Attrs(), l.ip)
}

// Take adds the address.
func (l *link) Take(ctx context.Context, lifetime time.Duration) error {
	if err := l.Extend(lifetime); err != nil || l.ip.Is4() {
		return err
	}
	ends := time.Now().Add(lifetime.Truncate(time.Second))
	ctx, cancel := context.WithTimeout(ctx, detection)
	defer cancel()
	for {
		address, _, err := l.current()
		switch {
		case err != nil:
			return err
		case address == nil && !time.Now().Before(ends):
			return fmt.Errorf("%s was had for %s, which is too short to find out whether another machine has it", l.ip, lifetime)
		case address == nil || address.Flags&unix.IFA_F_DADFAILED != 0: // the kernel removes one with a lifetime
			return taken(l.ip, "the kernel does not say which")
		case address.Flags&unix.IFA_F_TENTATIVE == 0:
			return nil
		}
		if err := backoff.Sleep(ctx, probeInterval); err != nil {
			return fmt.Errorf("the kernel has not found out in %s whether another machine has %s: %w", detection, l.ip, err)
		}
	}
}

// Extend sets the lifetime, rounded down to seconds. The address is never preferred: connections that this host begins come from its own.
func (l *link) Extend(lifetime time.Duration) error {
	device, err := l.find()
	if err != nil {
		return err
	}
	address := l.address()
	address.ValidLft = int(lifetime / time.Second)
	if address.ValidLft < 1 {
		return fmt.Errorf("%s cannot be had for %s", l.ip, lifetime)
	}
	if err := netlink.AddrReplace(device, address); err != nil {
		return fmt.Errorf("adding %s to %s: %w", l.ip, device.Attrs().Name, err)
	}
	return nil
}

// Announce sends an unsolicited answer of ARP or of neighbour discovery.
func (l *link) Announce() error {
	device, err := l.find()
	if err != nil {
		return err
	}
	if l.ip.Is6() {
		return advertise(device.Attrs(), l.ip)
	}
	return announce(device.Attrs(), l.ip)
}

// Remove removes the address from any device, unless somebody has configured it there: then it has no lifetime, or a longer one.
func (l *link) Remove() error {
	for {
		address, device, err := l.current()
		if err != nil || address == nil || !ours(address) {
			return err
		}
		err = netlink.AddrDel(device, address)
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("removing %s from %s: %w", l.ip, device.Attrs().Name, err)
		}
	}
}

// address is the address as the device has it: alone, without a route to its network.
func (l *link) address() *netlink.Addr {
	bits := l.ip.BitLen()
	return &netlink.Addr{IPNet: &net.IPNet{IP: l.ip.AsSlice(), Mask: net.CIDRMask(bits, bits)}}
}

// ours reports whether a keeper has added the address.
func ours(a *netlink.Addr) bool {
	return a.ValidLft != math.MaxUint32 && a.ValidLft <= int(iplease.Duration/time.Second)
}

// current is the address as this host has it now, with its device; nil when it has it not.
func (l *link) current() (*netlink.Addr, netlink.Link, error) {
	all, err := l.addresses()
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if is(all[i], l.ip) {
			device, err := netlink.LinkByIndex(all[i].LinkIndex)
			return &all[i], device, err
		}
	}
	return nil, nil, nil
}

func (l *link) addresses() ([]netlink.Addr, error) {
	family := netlink.FAMILY_V4
	if l.ip.Is6() {
		family = netlink.FAMILY_V6
	}
	all, err := netlink.AddrList(nil, family)
	if err != nil {
		return nil, fmt.Errorf("the addresses of this host: %w", err)
	}
	return all, nil
}

func is(a netlink.Addr, ip netip.Addr) bool {
	known, _ := netip.AddrFromSlice(a.IP)
	return known.Unmap() == ip
}

// find is the device with an address of this host in the network of the virtual IP.
func (l *link) find() (netlink.Link, error) {
	all, err := l.addresses()
	if err != nil {
		return nil, err
	}
	var found netlink.Link
	for _, a := range all {
		own, _ := netip.AddrFromSlice(a.IP)
		if own = own.Unmap(); own == l.ip && !ours(&a) {
			return nil, fmt.Errorf("this host has %s itself: take it off (`ip address delete`), or give pinion up another --virtual-ip", l.ip)
		} else if own == l.ip || !l.offer.Network().Contains(own) {
			continue
		}
		device, err := netlink.LinkByIndex(a.LinkIndex)
		if err != nil {
			return nil, fmt.Errorf("the device with %s: %w", own, err)
		}
		if found == nil && (l.offer.Device == "" || l.offer.Device == device.Attrs().Name) {
			found = device
		}
	}
	switch {
	case found != nil:
		return found, nil
	case l.offer.Device != "":
		return nil, fmt.Errorf("the device %s has no address in %s: give it one, or pinion up another --virtual-ip", l.offer.Device, l.offer.Network())
	}
	return nil, fmt.Errorf("no device of this host has an address in %s: give one to the right device, or pinion up another --virtual-ip", l.offer.Network())
}

// taken is ErrTaken with which machine it is.
func taken(ip netip.Addr, by string) error {
	return fmt.Errorf("%s is in use: %w (%s): free it there, or give the hosts another --virtual-ip", ip, ErrTaken, by)
}

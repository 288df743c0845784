package virtualip

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/iplease"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// wire is a cable between two machines: each is a network namespace with one device.
type wire struct {
	t          *testing.T
	here, peer netns.NsHandle
}

// newWire makes both, and has this test be here. Its thread is never used for anything else.
func newWire(t *testing.T) *wire {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread()
	w := &wire{t: t}
	var err error
	if w.peer, err = netns.New(); err != nil {
		t.Fatal(err)
	}
	if w.here, err = netns.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.peer.Close(); w.here.Close() })
	w.must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(w.peer))}))
	for _, host := range []string{"1", "2"} {
		w.add("10.9.0." + host + "/24")
		w.add("2001:db8::" + host + "/64")
		device, err := netlink.LinkByName("eth0")
		w.must(err)
		w.must(netlink.LinkSetUp(device))
		w.must(netns.Set(w.peer))
	}
	w.must(netns.Set(w.here))
	return w
}

func (w *wire) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// atPeer runs f on the other machine.
func (w *wire) atPeer(f func()) {
	w.must(netns.Set(w.peer))
	defer func() { w.must(netns.Set(w.here)) }()
	f()
}

// add configures an address on the machine that the test is on, for good.
func (w *wire) add(address string) {
	w.t.Helper()
	device, err := netlink.LinkByName("eth0")
	w.must(err)
	parsed, err := netlink.ParseAddr(address)
	w.must(err)
	const withoutDetection = 0x02 // IFA_F_NODAD
	if parsed.IP.To4() == nil {
		parsed.Flags = withoutDetection
	}
	w.must(netlink.AddrAdd(device, parsed))
}

// eventually waits for what the kernel does.
func (w *wire) eventually(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			w.t.Fatalf("still not: %s", what)
		}
	}
}

func (w *wire) has(l *link) *netlink.Addr {
	w.t.Helper()
	address, _, err := l.current()
	w.must(err)
	return address
}

func TestAnAddressHasALifetime(t *testing.T) {
	for _, offer := range []iplease.Offer{{IP: "10.9.0.100", Bits: 24}, {IP: "2001:db8::100", Bits: 64, Device: "eth0"}} {
		t.Run(offer.IP, func(t *testing.T) {
			w := newWire(t)
			l := OnLink(offer).(*link)
			w.eventually("the device is ready", func() bool { return l.Check(t.Context()) == nil })
			w.must(l.Take(t.Context(), iplease.Duration))
			if got := w.has(l); got == nil || got.ValidLft < 1 || !ours(got) || got.PreferedLft != 0 {
				t.Fatalf("%+v", got)
			}
			w.must(l.Check(t.Context()))
			w.must(l.Announce())
			w.must(l.Remove())
			if got := w.has(l); got != nil {
				t.Fatalf("still there: %+v", got)
			}
			w.must(l.Take(t.Context(), 3*time.Second))
			w.eventually("the kernel removes it", func() bool { return w.has(l) == nil })
		})
	}
}

func TestAnAddressThatAnotherMachineHasIsRefused(t *testing.T) {
	w := newWire(t)
	l := OnLink(iplease.Offer{IP: "10.9.0.100", Bits: 24})
	w.atPeer(func() { w.add("10.9.0.100/24") })
	if err := l.Check(t.Context()); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "eth0") {
		t.Error(err)
	}
	six := OnLink(iplease.Offer{IP: "2001:db8::100", Bits: 64})
	w.atPeer(func() { w.add("2001:db8::100/64") })
	if err := six.Take(t.Context(), iplease.Duration); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	w.must(six.Remove())
}

// The machines of the network send to this host from when it has told them.
func TestAnAddressIsAnnounced(t *testing.T) {
	w := newWire(t)
	own, err := netlink.LinkByName("eth0")
	w.must(err)
	old, _ := net.ParseMAC("02:00:00:00:00:01")
	for _, offer := range []iplease.Offer{{IP: "10.9.0.100", Bits: 24}, {IP: "2001:db8::100", Bits: 64}} {
		l := OnLink(offer)
		ip := netip.MustParseAddr(offer.IP)
		w.atPeer(func() {
			device, err := netlink.LinkByName("eth0")
			w.must(err)
			w.must(netlink.NeighSet(&netlink.Neigh{LinkIndex: device.Attrs().Index, State: netlink.NUD_STALE, IP: ip.AsSlice(), HardwareAddr: old}))
		})
		w.must(l.Take(t.Context(), iplease.Duration))
		w.eventually(offer.IP+" is known at the other machine", func() bool {
			w.must(l.Extend(iplease.Duration))
			w.must(l.Announce())
			found := false
			w.atPeer(func() {
				all, err := netlink.NeighList(0, 0)
				w.must(err)
				for _, n := range all {
					found = found || n.IP.Equal(ip.AsSlice()) && n.HardwareAddr.String() == own.Attrs().HardwareAddr.String()
				}
			})
			return found
		})
		w.must(l.Remove())
	}
}

func TestAHostThatCannotHaveAnAddressSaysWhy(t *testing.T) {
	w := newWire(t)
	w.add("10.9.0.100/24")
	for _, c := range []struct {
		offer iplease.Offer
		says  string
	}{
		{iplease.Offer{IP: "10.9.0.100", Bits: 24}, "this host has 10.9.0.100 itself"},
		{iplease.Offer{IP: "10.8.0.100", Bits: 24}, "no device of this host has an address in 10.8.0.0/24"},
		{iplease.Offer{IP: "10.9.0.101", Bits: 24, Device: "eth1"}, "the device eth1 has no address in 10.9.0.0/24"},
	} {
		if err := OnLink(c.offer).Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.offer, err)
		}
	}
	l := OnLink(iplease.Offer{IP: "10.9.0.100", Bits: 24}).(*link)
	w.must(l.Remove())
	if w.has(l) == nil {
		t.Error("an address that the operator has configured was removed")
	}
}

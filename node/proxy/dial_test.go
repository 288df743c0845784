package proxy

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/traffic"
)

// A host names the address of its targets: it cannot turn the proxies of others to what only their own programs may reach.
func TestATargetIsNoAddressOfTheProxysOwnHost(t *testing.T) {
	const refused, allowed = false, true
	for advertised, targets := range map[string]map[string]bool{
		"10.0.0.7:7400": {
			"10.0.0.8:80": allowed, "[fd00::8]:80": allowed, "127.0.0.1:7400": refused, "127.255.0.9:80": refused, "[::1]:80": refused,
			"[::ffff:127.0.0.1]:80": refused, "169.254.169.254:80": refused, "[fe80::1%eth0]:80": refused, "0.0.0.0:80": refused, "[::]:80": refused,
			"224.0.0.1:80": refused, "not an address": refused, "198.18.0.2:80": refused, "[64:ff9b::127.0.0.1]:80": refused, "[fd00:ec2::254]:80": refused,
		},
		"gpu-7:7400":     {"10.0.0.8:80": allowed, "127.0.0.1:80": refused},
		"127.0.0.1:7400": {"127.0.0.2:80": allowed, "[::1]:80": allowed, "169.254.169.254:80": refused},
		"localhost:7400": {"127.0.0.1:80": allowed},
		"[::1]:7400":     {"127.0.0.1:80": allowed, "0.0.0.0:80": refused},
	} {
		d := newTargetDialer(advertised, traffic.DefaultVirtualRange)
		for target, want := range targets {
			if err := d.check(target); (err == nil) != want {
				t.Errorf("a host at %s connects to %s: %v", advertised, target, err)
			}
		}
	}
}

// A name is looked at when it is resolved, not before.
func TestANameOfATargetIsNoAddressOfTheProxysOwnHost(t *testing.T) {
	_, err := newTargetDialer("10.0.0.7:7400", traffic.DefaultVirtualRange).dial(t.Context(), "localhost:9")
	if !errors.Is(err, traffic.ErrOwnNetwork) {
		t.Errorf("%v", err)
	}
}

// A connection that is given up before it is used keeps no port of this host; one that is used ends in order.
func TestAConnectionThatIsNotUsedKeepsNoPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newTargetDialer("127.0.0.1:7400", traffic.DefaultVirtualRange)
	begun, err := d.dialer.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Close()
	used, err := d.dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for conn, want := range map[net.Conn]int{begun: 1, used: 0} {
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		resets := -1
		if err := raw.Control(func(fd uintptr) { resets, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_LINGER) }); err != nil || resets != want {
			t.Errorf("its end resets it: %d, want %d, %v", resets, want, err)
		}
	}
}

package traffic_test

import (
	"net/netip"
	"testing"

	"pinion/raftfsm/traffic"
)

func TestWhichAddressesAreTargets(t *testing.T) {
	elsewhere := netip.MustParsePrefix("10.99.0.0/16")
	for text, virtual := range map[string]netip.Prefix{
		"0.0.0.0": {}, "::": {}, "127.0.0.1": {}, "127.9.9.9": {}, "::1": {}, "::ffff:127.0.0.1": {}, "169.254.169.254": {}, "::ffff:169.254.169.254": {}, "fe80::1": {}, "fe80::1%eth0": {},
		"224.0.0.1": {}, "ff02::1": {}, "fd00:ec2::254": {}, "::169.254.169.254": {}, "::127.0.0.1": {},
		"64:ff9b::127.0.0.1": {}, "64:ff9b::a9fe:a9fe": {}, "64:ff9b::c612:2": traffic.DefaultVirtualRange, "2002:7f00:1::": {}, "2002:a9fe:a9fe::1": {},
		"198.18.0.1": traffic.DefaultVirtualRange, "198.19.255.255": traffic.DefaultVirtualRange, "::ffff:198.18.0.1": traffic.DefaultVirtualRange, "10.99.0.1": elsewhere,
	} {
		if traffic.CheckTargetAddress(netip.MustParseAddr(text), virtual) == nil {
			t.Errorf("%s is a target", text)
		}
	}
	for text, virtual := range map[string]netip.Prefix{
		"10.0.0.1": traffic.DefaultVirtualRange, "192.0.2.1": {}, "fd00::1": {}, "2001:db8::1": {}, "64:ff9b::10.0.0.1": {}, "2002:a00:1::1": {}, "198.17.255.255": traffic.DefaultVirtualRange,
		"198.18.0.1": elsewhere,
	} {
		if err := traffic.CheckTargetAddress(netip.MustParseAddr(text), virtual); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

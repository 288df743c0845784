package admission

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pinion/packaging/clientnet"
)

func TestAnAddressThatWasRefusedTooOftenIsNotHeardForAWhile(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &refusalLimit{now: func() time.Time { return now }}
	from, other := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
	for range maxRefusals {
		if wait := l.wait(from); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		l.refused(from)
	}
	if l.wait(from) != refusalWindow || l.wait(other) != 0 {
		t.Errorf("it waits %s, another address %s", l.wait(from), l.wait(other))
	}
	now = now.Add(refusalWindow)
	if l.wait(from) != 0 {
		t.Errorf("after the window it waits %s", l.wait(from))
	}
}

func TestTheMemoryOfRefusalsIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &refusalLimit{now: func() time.Time { return now }}
	address := func(n int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 32)
	}
	for n := range maxAddresses + 100 {
		l.refused(address(n))
	}
	if len(l.counts) > maxAddresses+1 {
		t.Errorf("%d addresses are remembered", len(l.counts))
	}
	if l.wait(address(maxAddresses+200)) == 0 || l.wait(address(0)) != 0 {
		t.Error("with a full memory a new address is heard, or an earlier one is not")
	}
	now = now.Add(refusalWindow)
	if l.wait(address(maxAddresses+200)) != 0 || len(l.counts) != 0 {
		t.Errorf("after the window %d addresses are remembered", len(l.counts))
	}
}

func TestAllAddressesOfOneNetworkOfIPv6CountTogether(t *testing.T) {
	for at, want := range map[string]string{
		"10.1.2.3:99": "10.1.2.3/32", "[::ffff:10.1.2.3]:99": "10.1.2.3/32", "[2001:db8::1]:99": "2001:db8::/64", "[2001:db8::ffff:1]:1": "2001:db8::/64", "pipe": "invalid Prefix",
	} {
		if got := fmt.Sprint(clientnet.Prefix(at)); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}

package many

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// TestClientsOfAHostWaitWhileItIsUpgraded exchanges the program of one host while clients begin streams of two seconds through its listener, and know no other
// host. Those that run are served to their end, and those that come meanwhile wait for the new program: none is refused or cut short.
func TestClientsOfAHostWaitWhileItIsUpgraded(t *testing.T) {
	p := newUpgradedPool(t, 3)
	p.build(t, "streamserver")
	p.serveAnywhere(t)
	second := p.release(t, "second", nil)
	h := p.Hosts()[2]
	address := netip.AddrPortFrom(h.IP, listenerPort).String()
	s := p.startRequests(t, stream, func(ctx context.Context, network, _ string) (net.Conn, error) { return p.Dial(ctx, network, address) }, listenerPort, *requestRate)
	testbed.Rest(t.Context(), 3*time.Second)
	began := time.Now()
	p.mustUpgrade(t, "--to", second, "--on-host", h.Name, "--dwell", "0s")
	t.Logf("the upgrade took %v", time.Since(began).Round(100*time.Millisecond))
	testbed.Rest(t.Context(), 3*time.Second)
	s.mustBeWhole()
}

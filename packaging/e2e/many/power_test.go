package many

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// TestAHostWithoutPowerFailsNoIdempotentRequest takes the power of one of two hosts that serve, while clients send requests through the listeners of the
// others. Half a second long nothing of an answer has come to any of them: those that are in flight to the host are sent again. It has more of the
// targets than a request has attempts.
func TestAHostWithoutPowerFailsNoIdempotentRequest(t *testing.T) {
	serves := func() []string { return []string{"--gpus", "sim:4xh100"} }
	p := up(t, serves(), serves(), []string{"--gpus", "none"})
	p.build(t, "streamserver")
	p.serveStreams(t)
	lost, left, client := p.Hosts()[0], p.Hosts()[1], p.Hosts()[2]
	if p.leader(t) == left {
		lost, left = left, lost
	}
	s := p.startRequests(t, later, func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == netip.AddrPortFrom(lost.IP, listenerPort).String() {
			address = netip.AddrPortFrom(client.IP, listenerPort).String()
		}
		return p.Dial(ctx, network, address)
	}, listenerPort, *streamRate)
	testbed.Rest(t.Context(), 2*time.Second) // some are in flight to each task
	must(t, lost.CutPower(t.Context()))
	eventually(t, "the service has only the tasks of the other host", func() bool { return p.describeStreams(t, left).Running == replicas/2 })
	s.mustBeWhole()
	must(t, p.Heal())
}

package dispatch

import (
	"math"
	"net/netip"
	"slices"

	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

const (
	maxPort       = 1<<16 - 1
	maxPeakMemory = maxCapacity << 20 // bytes
)

// boundedContainer is what a host says of a container in the values that there are: SDKs refuse a whole answer of ECS for one number that does not
// fit its type, with the tasks of other hosts in it.
func boundedContainer(c spec.ContainerReport) spec.ContainerReport {
	if c.ExitCode != nil {
		c.ExitCode = new(min(max(*c.ExitCode, math.MinInt32), math.MaxInt32))
	}
	if c.Health != spec.Healthy && c.Health != spec.Unhealthy {
		c.Health = ""
	}
	c.PeakMemory = min(max(c.PeakMemory, 0), maxPeakMemory)
	if c.GPUTotals != nil {
		totals := c.GPUTotals.Bounded(math.MaxInt64)
		c.GPUTotals = &totals
	}
	c.Bindings = slices.DeleteFunc(slices.Clone(c.Bindings[:min(len(c.Bindings), maxBindings)]), func(b spec.NetworkBinding) bool { return !validBinding(b) })
	return c
}

// validBinding reports whether a host can have bound ports so.
func validBinding(b spec.NetworkBinding) bool {
	_, err := netip.ParseAddr(b.BindIP)
	return (b.BindIP == "" || err == nil) && (b.Protocol == "" || b.Protocol == "tcp" || b.Protocol == "udp") &&
		min(b.ContainerPort, b.HostPort) >= 0 && max(b.ContainerPort, b.HostPort) <= maxPort &&
		validPortRange(b.ContainerPortRange) && validPortRange(b.HostPortRange)
}

// validPortRange reports whether a text is a range of ports, or empty.
func validPortRange(text string) bool {
	_, err := hostport.ParseRange(text)
	return text == "" || err == nil
}

package hostport

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxRange is the most ports of a range: each is a rule in the packet filter of the host, and a socket that keeps it.
const MaxRange = 100

// Range is a range of ports with its ends, "8000-8009" in ECS's containerPortRange and hostPortRange.
type Range struct{ First, Last int }

// ParseRange reads a range of at least 2 and at most MaxRange ports.
func ParseRange(text string) (Range, error) {
	first, last, ok := strings.Cut(text, "-")
	r := Range{}
	var firstErr, lastErr error
	r.First, firstErr = strconv.Atoi(first)
	r.Last, lastErr = strconv.Atoi(last)
	switch {
	case !ok || firstErr != nil || lastErr != nil || r.String() != text || r.First < 1 || r.Last > 65535 || r.First >= r.Last:
		return Range{}, fmt.Errorf("%.100q is not a range of ports from 1 to 65535, such as 8000-8009", text)
	case r.Size() > MaxRange:
		return Range{}, fmt.Errorf("%s has %d ports, and a range can have %d", text, r.Size(), MaxRange)
	}
	return r, nil
}

// Size is the number of ports.
func (r Range) Size() int { return r.Last - r.First + 1 }

// String is the range as ECS writes it.
func (r Range) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Published are the ports of a binding on its host and in its container: two ranges of one size, of which single ports are one, too. The texts are those of
// the binding, empty of a single port.
func Published(hostRange string, hostPort int, containerRange string, containerPort int) (host, container Range) {
	host, err := ParseRange(hostRange)
	container, other := ParseRange(containerRange)
	if err != nil || other != nil || host.Size() != container.Size() {
		return Range{hostPort, hostPort}, Range{containerPort, containerPort}
	}
	return host, container
}

// Overlaps reports whether a port is in both.
func (r Range) Overlaps(other Range) bool { return r.First <= other.Last && other.First <= r.Last }

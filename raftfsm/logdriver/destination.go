package logdriver

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/traffic"
)

// Remote is the word of `pinion up --log-destination` for what other machines listen on.
const Remote = "remote"

// Destination is the address to which a log driver sends lines.
type Destination struct {
	Network string // tcp, udp or unix
	Where   string // HOST:PORT, or the path of a socket
	TLS     bool
}

// IsSocket reports whether the destination is a socket of the host.
func (d Destination) IsSocket() bool { return d.Network == "unix" }

// String is the destination as `pinion up --log-destination` has it.
func (d Destination) String() string { return d.Network + "://" + d.Where }

// Host is the name or the address of the machine; empty for a socket.
func (d Destination) Host() string {
	host, _, _ := net.SplitHostPort(d.Where)
	return host
}

// maxSocketPath is the longest path of a socket, in bytes.
const maxSocketPath = 107

// parseDestination reads SCHEME://HOST[:PORT] or unix:///PATH. The schemes have their default ports; none: one has to be given.
func parseDestination(text string, ports map[string]string) (Destination, error) {
	u, err := url.Parse(text)
	port, known := "", false
	if err == nil {
		port, known = ports[u.Scheme]
	}
	if !known || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return Destination{}, fmt.Errorf("%.300q is no address", text)
	}
	if strings.HasPrefix(u.Scheme, "unix") {
		if u.Host != "" || !path.IsAbs(u.Path) || path.Clean(u.Path) != u.Path || len(u.Path) > maxSocketPath || strings.Contains(u.Path, "\x00") {
			return Destination{}, fmt.Errorf("%.300q is not unix:///PATH of a socket", text)
		}
		return Destination{Network: "unix", Where: u.Path}, nil
	}
	if u.Port() != "" {
		port = u.Port()
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(host, " %,") {
		return Destination{}, fmt.Errorf("%.300q is not an address with a host and a port", text)
	}
	d := Destination{Network: "tcp", Where: net.JoinHostPort(host, port), TLS: slices.Contains([]string{"tls", "tcp+tls", "https"}, u.Scheme)}
	if u.Scheme == "udp" {
		d.Network = "udp"
	}
	return d, nil
}

// ParseAllowed reads a value of `pinion up --log-destination`: Remote, or a Destination as its String writes it.
func ParseAllowed(text string) (string, error) {
	if text == Remote {
		return text, nil
	}
	d, err := parseDestination(text, map[string]string{"tcp": "", "udp": "", "unix": ""})
	if err != nil {
		return "", fmt.Errorf("%q is not %s, tcp://HOST:PORT, udp://HOST:PORT or unix:///PATH", text, Remote)
	}
	return d.String(), nil
}

// Names reports whether the list of `pinion up --log-destination` names the destination itself.
func (d Destination) Names(allowed []string) bool { return slices.Contains(allowed, d.String()) }

// Forwarding is the destination of the lines of a container.
type Forwarding struct {
	Container string
	To        Destination
}

// Forwarding returns the destination of the lines of the container of that name; is reports whether there is one.
func (l *Configuration) Forwarding(container string) (u Forwarding, is bool) {
	if !l.Forwards() {
		return Forwarding{}, false
	}
	to, _ := l.Destination() // one that cannot be read is none, which every host refuses
	return Forwarding{container, to}, true
}

// RefusedBy returns the reason why a host of that address does not send the lines there, with what would have to change; empty when it does. What a name leads to
// is seen on the host alone, see CheckAddress.
func (u Forwarding) RefusedBy(allowed []string, hostName, hostAddress string) string {
	d := u.To
	if d.Names(allowed) {
		return ""
	}
	asks := fmt.Sprintf("the log of container %s goes to %v", u.Container, d)
	named := fmt.Sprintf("start the host with pinion up --log-destination %v, or change it", d)
	switch {
	case d == Destination{}:
		return fmt.Sprintf("the log of container %s goes nowhere: its address cannot be read", u.Container)
	case d.IsSocket():
		return fmt.Sprintf("%s, a socket that host %s does not give to tasks: %s", asks, hostName, named)
	case !slices.Contains(allowed, Remote):
		return fmt.Sprintf("%s, where host %s sends no logs: %s", asks, hostName, named)
	}
	host, own := d.Host(), Destination{Where: hostAddress}.Host()
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == own || err == nil && CheckAddress(ip, nil, traffic.DefaultVirtualRange) != nil {
		return fmt.Sprintf("%s, which is host %s itself or means something else on each host: %s", asks, hostName, named)
	}
	return ""
}

// reserved are the addresses of no machine, the last of which every machine of a network takes for its own.
var reserved = netip.MustParsePrefix("240.0.0.0/4")

// CheckAddress is RefusedBy for what a name of another machine has led to. own are the addresses that reach this host, virtual is where it has virtual ones.
func CheckAddress(ip netip.Addr, own []netip.Addr, virtual netip.Prefix) error {
	if means := traffic.Carried(ip); slices.Contains(own, means) || reserved.Contains(means) {
		return traffic.ErrOwnNetwork
	}
	return traffic.CheckTargetAddress(ip, virtual)
}

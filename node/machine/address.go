package machine

import (
	"net"
	"os"
	"slices"
	"strconv"
)

// Addresses are the addresses at which the API of a host listens. Each is "host:port" with the real port.
type Addresses struct {
	Local      string   // for clients on this machine
	Advertised string   // for other machines
	Names      []string // host names and IP addresses that a certificate must be good for
	Port       int
}

// NewAddresses finds them for a listener: advertise is what the operator asked for; empty means the address that is
// listened on, or, when that is every address, the machine's first IPv4 one that others can reach.
func NewAddresses(listening *net.TCPAddr, advertise string) Addresses {
	port := strconv.Itoa(listening.Port)
	a := Addresses{Local: listening.String(), Advertised: advertise, Port: listening.Port}
	if listening.IP.IsUnspecified() {
		a.Local = net.JoinHostPort("127.0.0.1", port)
	}
	if a.Advertised == "" {
		a.Advertised = a.Local
		if ip := outboundIP(); listening.IP.IsUnspecified() && ip != nil {
			a.Advertised = net.JoinHostPort(ip.String(), port)
		}
	}
	name, err := os.Hostname()
	if err == nil {
		a.Names = append(a.Names, name)
	}
	for _, address := range []string{a.Local, a.Advertised} {
		if host, _, err := net.SplitHostPort(address); err == nil && !slices.Contains(a.Names, host) {
			a.Names = append(a.Names, host)
		}
	}
	return a
}

// outboundIP is the IPv4 address that the machine's packets leave with, or else its first one that is not its own
// alone; nil when it has none.
func outboundIP() net.IP {
	// Connecting a UDP socket sends nothing: it asks the routes. The address is one reserved for documentation.
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).IP
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}

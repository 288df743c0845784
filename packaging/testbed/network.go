package testbed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

const (
	// maxHosts fit into a /24 beside the switch.
	maxHosts = 100
	// switchHostNumber is the address of the switch in the subnet.
	switchHostNumber = 254
	// cutChain holds the rules of cut links. It is in the raw table, which every packet that arrives meets first, also
	// those for containers.
	cutChain = "CUT"
)

func newID() string {
	var b [3]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// freeSubnet returns a private /24 in which this machine has no address, so that hosts cannot be confused with the machine's
// neighbours.
func freeSubnet() (netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	for i := range 256 {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, byte(i), 0}), 24)
		free := true
		for _, a := range addresses {
			p, err := netip.ParsePrefix(a.String())
			free = free && (err != nil || !p.Overlaps(subnet))
		}
		if free {
			return subnet, nil
		}
	}
	return netip.Prefix{}, errors.New("this machine has an address in every /24 of 10.77.0.0/16; no subnet is left for the cluster")
}

func addressOf(subnet netip.Prefix, n int) netip.Addr {
	bytes := subnet.Addr().As4()
	bytes[3] = byte(n)
	return netip.AddrFrom4(bytes)
}

// namespace is the name of a host's or the switch's namespace, as `ip netns` lists it.
func (b *Testbed) namespace(of string) string { return "pinion-" + b.state.ID + "-" + of }

func (b *Testbed) switchNamespace() string { return b.namespace("switch") }

// createNetwork makes the namespaces, the bridge in the switch's, and a link from there to each host. Every interface is born
// inside a namespace of the testbed.
func (b *Testbed) createNetwork() error {
	board := b.switchNamespace()
	script := []string{
		"netns add " + board,
		"-n " + board + " link set lo up",
		"-n " + board + " link add bridge0 type bridge",
		"-n " + board + " link set bridge0 up",
		fmt.Sprintf("-n %s address add %s/24 dev bridge0", board, b.SwitchIP()),
	}
	for _, h := range b.hosts {
		script = append(script,
			"netns add "+h.namespace,
			fmt.Sprintf("-n %s link add %s type veth peer name eth0 netns %s", board, h.Name, h.namespace),
			fmt.Sprintf("-n %s link set %s master bridge0 up", board, h.Name),
			fmt.Sprintf("-n %s address add %s/24 dev eth0", h.namespace, h.IP),
			"-n "+h.namespace+" link set lo up",
			"-n "+h.namespace+" link set eth0 up",
		)
	}
	for _, line := range script {
		if err := runCommand("ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	for _, h := range b.hosts {
		if err := h.iptables("-N", cutChain); err != nil {
			return err
		}
		if err := h.iptables("-I", "PREROUTING", "-j", cutChain); err != nil {
			return err
		}
	}
	return nil
}

// deleteNetwork removes the namespaces with everything in them. It may be repeated.
func (b *Testbed) deleteNetwork() error {
	var all error
	for _, name := range b.namespaces() {
		if _, err := os.Stat(namespacePath(name)); err == nil {
			all = errors.Join(all, runCommand("ip", "netns", "delete", name))
		}
	}
	return all
}

func (b *Testbed) namespaces() []string {
	names := []string{b.switchNamespace()}
	for _, h := range b.hosts {
		names = append(names, h.namespace)
	}
	return names
}

// Cut drops the packets from one host to another, in this direction only.
func (b *Testbed) Cut(from, to *Host) error {
	return to.iptables("-A", cutChain, "-s", from.IP.String(), "-j", "DROP")
}

// CutBoth drops the packets between two hosts.
func (b *Testbed) CutBoth(one, other *Host) error {
	return errors.Join(b.Cut(one, other), b.Cut(other, one))
}

// Heal ends all cuts.
func (b *Testbed) Heal() error {
	var all error
	for _, h := range b.hosts {
		all = errors.Join(all, h.iptables("-F", cutChain), b.setLink(h, "up"))
	}
	return all
}

// setLink sets a host's link to the switch "up" or "down".
func (b *Testbed) setLink(h *Host, state string) error {
	return runCommand("ip", "-n", b.switchNamespace(), "link", "set", h.Name, state)
}

// Namespace is the path of the network namespace of the switch, from which all hosts are reached.
func (b *Testbed) Namespace() string { return namespacePath(b.switchNamespace()) }

// SwitchIP is the address of the switch. Cuts between hosts do not concern it.
func (b *Testbed) SwitchIP() netip.Addr {
	return addressOf(netip.MustParsePrefix(b.state.Subnet), switchHostNumber)
}

// Listen opens a port on the switch, for services outside of the pool such as a registry.
func (b *Testbed) Listen(port int) (listener net.Listener, err error) {
	err = inNamespace(b.switchNamespace(), "", func() error {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(b.SwitchIP(), uint16(port)).String())
		return err
	})
	return listener, err
}

// Dial connects to an address from the switch, as a client outside of all hosts.
func (b *Testbed) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNamespace(b.switchNamespace(), "", func() error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (h *Host) iptables(args ...string) error {
	return inNamespace(h.namespace, "", func() error { return runCommand("iptables", append([]string{"-w", "10", "-t", "raw"}, args...)...) })
}

func runCommand(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

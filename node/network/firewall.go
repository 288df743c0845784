package network

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"

	"github.com/coreos/go-iptables/iptables"

	"pinion/raftfsm/traffic"
)

var errNoFirewall = errors.New("iptables is missing on this host; install the iptables package and start pinion again")

// lockTimeout bounds how many seconds a command waits for the iptables lock.
const lockTimeout = 10

// firewall is the host's packet filter, driven by the iptables command. Rules that containers share are set once for the
// whole subnet; the portmap plugin adds the rules of published ports.
type firewall struct {
	tables *iptables.IPTables
	path   string // of iptables; iptables-restore is in the same directory
}

// findFirewall returns nil when there is no iptables on this host.
func findFirewall() *firewall {
	for _, candidate := range []string{"iptables", "/usr/sbin/iptables", "/sbin/iptables"} {
		path, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		if tables, err := iptables.New(iptables.Path(path), iptables.Timeout(lockTimeout)); err == nil {
			return &firewall{tables: tables, path: path}
		}
	}
	return nil
}

// rule is one rule of the packet filter.
type rule struct {
	table, chain string
	spec         []string
}

// bridgeRules are the rules of the subnet: outgoing packets are masqueraded, forwarding is allowed even where the host's
// policy is to drop, and incoming packets are accepted if they are answers, for a published port, or from the same subnet. Published
// ports answer at 127.0.0.1 of the host because the portmap plugin lets loopback addresses cross the bridge; without the rule of INPUT a
// container with NET_RAW would reach everything that listens only there.
//
// What goes to the virtual addresses of this host keeps the address of its container, by which it is told from the others there; see Host.OnSubnet. The rule
// that masquerades says so itself: one that accepts would have to stay above it, and a missing rule is inserted above those that are there.
//
// In a network of tasks no packet is masqueraded between its subnets, and whatever has a route to a task reaches it; what has no address of the subnet as
// its sender leaves no task. A later rule comes before the earlier ones of its chain.
func bridgeRules(c bridgeConfig) []rule {
	inside, incoming := c.Subnet, []string{"-o", c.Bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "ACCEPT"}
	var last []rule
	if c.Range != "" {
		inside, incoming = c.Range, []string{"-o", c.Bridge, "-j", "ACCEPT"}
		last = []rule{{"filter", "FORWARD", []string{"-i", c.Bridge, "!", "-s", c.Subnet, "-j", "DROP"}}}
	}
	return append([]rule{
		{"nat", "POSTROUTING", []string{"-s", c.Subnet, "!", "-d", inside, "!", "-o", traffic.VirtualInterface, "-j", "MASQUERADE"}},
		{"filter", "FORWARD", []string{"-i", c.Bridge, "-j", "ACCEPT"}},
		{"filter", "INPUT", []string{"-i", c.Bridge, "-d", "127.0.0.0/8", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "DROP"}},
		{"filter", "FORWARD", incoming},
	}, last...)
}

// earlierRules are those that an earlier pinion has set for the subnet, and that this one does not.
func earlierRules(c bridgeConfig) []rule {
	inside := cmp.Or(c.Range, c.Subnet)
	return []rule{
		{"nat", "POSTROUTING", []string{"-s", c.Subnet, "!", "-d", inside, "-j", "MASQUERADE"}},
		{"nat", "POSTROUTING", []string{"-s", c.Subnet, "-o", traffic.VirtualInterface, "-j", "ACCEPT"}},
	}
}

// ensureRules inserts missing rules at the beginning of their chains, and then removes those of an earlier pinion.
func (f *firewall) ensureRules(c bridgeConfig) error {
	for _, r := range bridgeRules(c) {
		if err := f.tables.InsertUnique(r.table, r.chain, 1, r.spec...); err != nil {
			return fmt.Errorf("set a rule of the packet filter: %w", err)
		}
	}
	return f.remove(earlierRules(c))
}

// removeRules removes existing rules, also those of an earlier pinion.
func (f *firewall) removeRules(c bridgeConfig) error {
	return f.remove(append(bridgeRules(c), earlierRules(c)...))
}

func (f *firewall) remove(rules []rule) error {
	for _, r := range rules {
		if err := f.tables.DeleteIfExists(r.table, r.chain, r.spec...); err != nil {
			return fmt.Errorf("remove a rule of the packet filter: %w", err)
		}
	}
	return nil
}

package network

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/coreos/go-iptables/iptables"
)

var errNoFirewall = errors.New("iptables is missing on this host; install the iptables package and start pinion again")

// lockTimeout is how many seconds a command waits for other programs that change the packet filter.
const lockTimeout = 10

// firewall is the host's packet filter, driven by the iptables command. Rules that containers share are set once for
// the whole subnet; the portmap plugin adds the rules of published ports.
type firewall struct {
	tables *iptables.IPTables
	path   string // of iptables; iptables-restore lies beside it
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

// bridgeRules are the rules that the subnet needs: its packets leave under the host's address, they are forwarded even
// where the host's policy is to drop, and what comes in is an answer, for a published port, or from a neighbour.
func bridgeRules(c bridgeConfig) []rule {
	return []rule{
		{"nat", "POSTROUTING", []string{"-s", c.Subnet, "!", "-d", c.Subnet, "-j", "MASQUERADE"}},
		{"filter", "FORWARD", []string{"-i", c.Bridge, "-j", "ACCEPT"}},
		{"filter", "FORWARD", []string{"-o", c.Bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "ACCEPT"}},
	}
}

// ensureRules sets the rules that are not there yet, before all others of their chains.
func (f *firewall) ensureRules(c bridgeConfig) error {
	for _, r := range bridgeRules(c) {
		if err := f.tables.InsertUnique(r.table, r.chain, 1, r.spec...); err != nil {
			return fmt.Errorf("set a rule of the packet filter: %w", err)
		}
	}
	return nil
}

// removeRules removes the rules that are there.
func (f *firewall) removeRules(c bridgeConfig) error {
	for _, r := range bridgeRules(c) {
		if err := f.tables.DeleteIfExists(r.table, r.chain, r.spec...); err != nil {
			return fmt.Errorf("remove a rule of the packet filter: %w", err)
		}
	}
	return nil
}

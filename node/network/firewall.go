package network

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

var errNoFirewall = errors.New("iptables is missing on this host; install the iptables package and start pinion again")

// firewall is the host's packet filter, driven by the iptables command. Rules that containers share are set once for
// the whole subnet; the portmap plugin adds the rules of published ports.
type firewall struct{ command string }

// findFirewall answers nil when there is no iptables on this host.
func findFirewall() *firewall {
	for _, candidate := range []string{"iptables", "/usr/sbin/iptables", "/sbin/iptables"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return &firewall{command: path}
		}
	}
	return nil
}

// bridgeRules are what the subnet needs: its packets leave under the host's address, they may be forwarded even where the
// host's policy is to drop, and what comes in is an answer, a published port, or from a neighbour.
func bridgeRules(p bridgeConfig) [][]string {
	return [][]string{
		{"-t nat", "POSTROUTING", "-s", p.Subnet, "!", "-d", p.Subnet, "-j", "MASQUERADE"},
		{"-t filter", "FORWARD", "-i", p.Bridge, "-j", "ACCEPT"},
		{"-t filter", "FORWARD", "-o", p.Bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "ACCEPT"},
	}
}

// ensureRules sets the rules that are not there yet.
func (f *firewall) ensureRules(p bridgeConfig) error {
	for _, r := range bridgeRules(p) {
		if f.run(r, "-C") == nil {
			continue
		}
		if err := f.run(r, "-I"); err != nil {
			return err
		}
	}
	return nil
}

// removeRules removes the rules that are there.
func (f *firewall) removeRules(p bridgeConfig) error {
	for _, r := range bridgeRules(p) {
		if f.run(r, "-C") != nil {
			continue
		}
		if err := f.run(r, "-D"); err != nil {
			return err
		}
	}
	return nil
}

func (f *firewall) run(rule []string, action string) error {
	args := append([]string{"-w", "10"}, strings.Fields(rule[0])...)
	args = append(args, action)
	args = append(args, rule[1:]...)
	if out, err := exec.Command(f.command, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

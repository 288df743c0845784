package network

import (
	"fmt"
	"os/exec"
	"strings"
)

// portmapChains are the chains of the portmap plugin. All published ports of a machine share them, also those of other
// programs.
var portmapChains = []string{"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK"}

// removePortmapChains removes the plugin's chains if no program on this machine publishes a port through them.
func (f *firewall) removePortmapChains() error {
	rules, err := f.list()
	if err != nil {
		return err
	}
	if !strings.Contains(rules, "-N "+portmapChains[0]+"\n") || strings.Contains(rules, "-A "+portmapChains[0]+" ") {
		return nil // no chains, or a port is published
	}
	var jumps []string
	for line := range strings.Lines(rules) {
		if strings.Contains(line, "-j CNI-HOSTPORT-") {
			jumps = append(jumps, strings.Replace(strings.TrimSpace(line), "-A", "-D", 1))
		}
	}
	for _, chain := range portmapChains {
		jumps = append(jumps, "-F "+chain)
	}
	for _, chain := range portmapChains {
		jumps = append(jumps, "-X "+chain)
	}
	return f.restore(jumps)
}

// list returns the nat table in the format of iptables -S.
func (f *firewall) list() (string, error) {
	out, err := exec.Command(f.path, "-w", "10", "-t", "nat", "-S").Output()
	if err != nil {
		return "", fmt.Errorf("listing the rules of the packet filter: %w", err)
	}
	return string(out), nil
}

// restore applies changes to the nat table atomically.
func (f *firewall) restore(changes []string) error {
	cmd := exec.Command(f.path+"-restore", "-w", "10", "--noflush")
	cmd.Stdin = strings.NewReader("*nat\n" + strings.Join(changes, "\n") + "\nCOMMIT\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("removing the chains of published ports: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

package network

import (
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/traffic"
)

// natRules are the rules of POSTROUTING that name the subnet of a bridge.
func natRules(t *testing.T, b *Bridge) []string {
	t.Helper()
	rules, err := b.firewall.tables.List("nat", "POSTROUTING")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rules, func(r string) bool { return !strings.Contains(r, "-s "+b.config.Subnet+" ") })
}

// What goes to virtual addresses is masqueraded by none of the rules, whichever of them were there before and in which order: somebody may have removed one,
// and an earlier pinion has set others.
func TestNoRuleMasqueradesWhatGoesToVirtualAddresses(t *testing.T) {
	b := openWithFirewall(t)
	attach(t, b, "one")
	for name, before := range map[string][]rule{"none": nil, "those of this pinion": bridgeRules(*b.config), "those of an earlier one": earlierRules(*b.config)} {
		if err := b.firewall.removeRules(*b.config); err != nil {
			t.Fatal(err)
		}
		if left := natRules(t, b); len(left) > 0 {
			t.Errorf("%s: removed are all but %q", name, left)
		}
		for _, r := range before {
			if err := b.firewall.tables.Append(r.table, r.chain, r.spec...); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.firewall.ensureRules(*b.config); err != nil {
			t.Fatal(err)
		}
		if got := natRules(t, b); len(got) != 1 || !strings.Contains(got[0], "! -o "+traffic.VirtualInterface+" -j MASQUERADE") {
			t.Errorf("%s: %q", name, got)
		}
	}
	detach(t, b, "one")
}

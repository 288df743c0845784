package cli

import (
	"fmt"
	"strings"
	"testing"
)

func TestVirtualIPsAreAddressesInANetwork(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	got, ran := upWith(t, "virtual-ip: [10.0.0.100/24, '2001:db8::64/64@eth0']\n")
	if ran.code != 0 || fmt.Sprint(got.Traffic.VirtualIPs) != "[10.0.0.100/24 2001:db8::64/64@eth0]" {
		t.Fatalf("%v %+v", got.Traffic.VirtualIPs, ran)
	}
	for given, says := range map[string]string{
		"10.0.0.100":           "is not ADDRESS/BITS",
		"10.0.0.100/24@":       "is not ADDRESS/BITS",
		"10.0.0.100/24@eth0:1": "is not ADDRESS/BITS",
		"10.0.0.0/24":          "is the address of the network",
		"10.0.0.100/32":        "names no network of several addresses",
		"224.0.0.18/24":        "one machine",
		"127.0.0.2/8":          "one machine",
		"fe80::1/64":           "one machine",
		"::ffff:10.0.0.1/120":  "is not an IP address",
	} {
		if _, ran := upWith(t, "", "--virtual-ip", given); ran.code != 2 || !strings.Contains(ran.err, says) {
			t.Errorf("%s: %+v", given, ran)
		}
	}
	if _, ran := upWith(t, "", "--virtual-ip", "10.0.0.1/24", "--virtual-ip", "10.0.0.1/16"); ran.code != 2 || !strings.Contains(ran.err, "twice") {
		t.Errorf("%+v", ran)
	}
	if _, ran := upWith(t, "virtual-ip: [10.0.0.1/24, 10.0.0.2/24, 10.0.0.3/24, 10.0.0.4/24, 10.0.0.5/24]\n"); ran.code != 2 || !strings.Contains(ran.err, "5 times") {
		t.Errorf("%+v", ran)
	}
}

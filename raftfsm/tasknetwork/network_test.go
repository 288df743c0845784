package tasknetwork_test

import (
	"fmt"
	"testing"

	"pinion/raftfsm/tasknetwork"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"10.32.0.0/16":                     "default=10.32.0.0/16",
		"subnet-0a1b=192.168.128.0/20":     "subnet-0a1b=192.168.128.0/20",
		"lab=100.64.0.0/24":                "lab=100.64.0.0/24",
		"10.32.0.1/16":                     "",
		"10.32.0.0":                        "",
		"fd00::/64":                        "",
		"8.8.0.0/16":                       "", // not private: its packets would never reach the internet again
		"0.0.0.0/0":                        "",
		"10.0.0.0/7":                       "", // reaches beyond what is private
		"10.32.0.0/25":                     "", // smaller than the subnet of a host
		"=10.32.0.0/16":                    "",
		"a b=10.32.0.0/16":                 "",
		"x'] or attribute:a=10.32.0.0/16":  "",
		"-lab=10.32.0.0/16":                "",
		"lab=10.32.0.0/16,other=10.33.0.0": "",
	} {
		got, err := tasknetwork.Parse(text)
		if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestEachHostHasASubnetOfItsOwnUntilThereIsNoneLeft(t *testing.T) {
	n, err := tasknetwork.Parse("10.32.4.0/22")
	if err != nil {
		t.Fatal(err)
	}
	n.Subnet = "10.32.99.0/24" // a host's own word
	taken := map[string]bool{"10.32.5.0/24": true}
	for _, want := range []string{"10.32.4.0/24", "10.32.6.0/24", "10.32.7.0/24", ""} {
		got := n.Assign(taken)
		if got.Subnet != want || want != "" && !n.Has(got.Subnet) {
			t.Fatalf("%+v, want %q", got, want)
		}
		taken[got.Subnet] = true
	}
}

func TestTheLastRangeHasAnEnd(t *testing.T) {
	n, taken := tasknetwork.Network{Range: "255.255.255.0/24"}, map[string]bool{}
	taken[n.Assign(taken).Subnet] = true
	if got := n.Assign(taken).Subnet; len(taken) != 1 || got != "" {
		t.Error(taken, got)
	}
}

func TestSubnetsOfOthersAreNotOfTheNetwork(t *testing.T) {
	n := tasknetwork.Network{Name: "lab", Range: "10.32.0.0/16"}
	for subnet, want := range map[string]bool{
		"10.32.7.0/24": true, "10.33.7.0/24": false, "10.32.7.1/24": false, "10.32.0.0/16": false, "10.32.7.0/25": false, "": false, "0.0.0.0/0": false,
	} {
		if n.Has(subnet) != want {
			t.Error(subnet)
		}
	}
	if g, err := tasknetwork.Gateway("10.32.7.0/24"); fmt.Sprint(g, err) != "10.32.7.1/24 <nil>" {
		t.Error(g, err)
	}
}

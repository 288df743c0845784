package raftfsm

import (
	"testing"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
)

// Each host has a subnet that no other has, whatever it says itself, and keeps it.
func TestThePoolGivesHostsTheirSubnets(t *testing.T) {
	h := newHistory(t)
	join := func(id, network, itself string) *spec.Host {
		host := hostWith(id, 0)
		if network != "" {
			n, err := tasknetwork.Parse(network)
			if err != nil {
				t.Fatal(err)
			}
			n.Subnet = itself
			host.TaskNetwork = &n
		}
		return h.do(t, PutHost{host}).(*spec.Host)
	}
	subnet := func(host *spec.Host) string {
		value, _ := host.Attribute(spec.AttributeSubnet)
		return value + " " + host.TaskNetwork.Subnet
	}
	wants := func(host *spec.Host, want string) {
		t.Helper()
		if got := subnet(host); got != want {
			t.Errorf("host %s has %q, want %q", host.ID, got, want)
		}
	}
	wants(join("h1", "lab=10.32.0.0/23", ""), "lab 10.32.0.0/24")
	wants(join("h2", "lab=10.32.0.0/23", "10.32.0.0/24"), "lab 10.32.1.0/24")
	wants(join("h3", "lab=10.32.0.0/23", ""), " ")
	wants(join("h4", "other=10.32.0.0/22", ""), "other 10.32.2.0/24") // the ranges overlap
	before := h.View().Host("h1").Revision
	after := join("h1", "lab=10.32.0.0/23", "10.32.1.0/24").Revision
	wants(h.View().Host("h1"), "lab 10.32.0.0/24")
	if after != before {
		t.Error("to say the same again is a change")
	}
	h.do(t, RemoveHost{ID: "h2"})
	wants(join("h3", "lab=10.32.0.0/23", ""), "lab 10.32.1.0/24")
	if gone := join("h1", "", ""); gone.TaskNetwork != nil {
		t.Errorf("%+v", gone.TaskNetwork)
	}
	wants(join("h5", "lab=10.32.0.0/23", ""), "lab 10.32.0.0/24")
	wants(join("h4", "moved=10.40.0.0/24", ""), "moved 10.40.0.0/24")
}

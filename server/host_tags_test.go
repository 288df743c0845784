package server

import (
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestAHostIsToldOfItsOwnTags(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(1)
	leader := p.leader().member.localServer()
	for _, host := range p.hosts {
		eventually(t, "the host is recorded", func() bool { return p.view().Host(host.cfg.HostID) != nil })
		apply(t, leader, raftfsm.SetTags{Kind: spec.ResourceHost, ID: host.cfg.HostID, Put: []spec.Tag{{Key: "host", Value: host.cfg.HostID}}})
	}
	for _, host := range p.hosts {
		tags, err := host.member.HostTags.Tags(t.Context())
		if err != nil || !slices.Equal(tags, []spec.Tag{{Key: "host", Value: host.cfg.HostID}}) {
			t.Errorf("host %s: %v, %v", host.cfg.HostID, tags, err)
		}
	}
}

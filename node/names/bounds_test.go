package names

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"pinion/raftfsm/traffic"
)

// The answer for a service with thousands of tasks is one packet over UDP, whatever the client says that it takes, and has so many tasks over TCP.
func TestAnswersAreBounded(t *testing.T) {
	host, site := resolving(t)
	routing := withTwoNames()
	targets := make([]traffic.Target, 5000)
	for i := range targets {
		targets[i] = traffic.Target{
			ID:      traffic.TargetID{Group: "llm.prod", Task: fmt.Sprintf("%032d", i), Container: "web", Port: 80}.String(),
			Address: fmt.Sprintf("10.0.%d.%d:32768", i>>8, i&255), State: traffic.Healthy,
		}
	}
	routing.Groups[0].Targets = targets
	n, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	n.table.Store(newTable(routing, n.network, ""))
	host.answer, site.answer = n.answerHost, n.answerSite
	for name, s := range map[string]*server{"host": host, "site": site} {
		for _, kind := range []uint16{dns.TypeA, dns.TypeSRV} {
			question := new(dns.Msg).SetQuestion("llm.prod.", kind).SetEdns0(dns.MaxMsgSize, false)
			reply, _, err := (&dns.Client{UDPSize: dns.MaxMsgSize}).Exchange(question, s.udp.PacketConn.LocalAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			if reply.Compress = true; reply.Len() > maxDatagram {
				t.Errorf("%s, %s over UDP: %d bytes", name, dns.TypeToString[kind], reply.Len())
			}
			reply, _, err = (&dns.Client{Net: "tcp"}).Exchange(question, s.udp.PacketConn.LocalAddr().String())
			if err != nil {
				t.Errorf("%s, %s over TCP: %v", name, dns.TypeToString[kind], err)
			} else if len(reply.Answer) == 0 || len(reply.Answer) > maxReplicas {
				t.Errorf("%s, %s over TCP: %d records", name, dns.TypeToString[kind], len(reply.Answer))
			}
		}
	}
}

package names

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// ttl is the time to live of an answer in seconds: names come and go with services.
const ttl = 5

// maxReplicas bounds the tasks in one answer: a service may have thousands, which no client asks for, and which a question of a few bytes is not to cost.
const maxReplicas = 128

// answerHost answers the host and its tasks: names with their virtual addresses, and the rest as the host's own resolvers do.
func (n *Names) answerHost(s *server, q query) *dns.Msg {
	t := n.table.Load()
	if name := nameOf(q.Msg); t.has(name) {
		return t.answer(q.Msg, func(e *record) []netip.Addr { return []netip.Addr{e.address} })
	}
	return s.forward(q, n.network.addresses)
}

// answerSite answers machines that are no hosts: names with the addresses of the hosts that run the tasks, and nothing else.
func (n *Names) answerSite(_ *server, q query) *dns.Msg {
	t := n.table.Load()
	if name := nameOf(q.Msg); !t.has(name) {
		return failure(q.Msg, dns.RcodeRefused)
	}
	return t.answer(q.Msg, func(e *record) (all []netip.Addr) {
		for _, r := range e.sample() {
			if a, err := netip.ParseAddr(r.host); err == nil {
				all = append(all, a)
			}
		}
		return all
	})
}

// nameOf is the name that is asked for.
func nameOf(request *dns.Msg) string {
	return strings.ToLower(strings.TrimSuffix(request.Question[0].Name, "."))
}

func failure(request *dns.Msg, code int) *dns.Msg { return new(dns.Msg).SetRcode(request, code) }

// answer answers for a name of the domain. addresses are those of a service's name.
func (t *table) answer(request *dns.Msg, addresses func(*record) []netip.Addr) *dns.Msg {
	reply, question := new(dns.Msg).SetReply(request), request.Question[0]
	reply.Authoritative, reply.RecursionAvailable = true, true
	e, of := t.find(nameOf(request))
	switch {
	case e == nil && nameOf(request) != t.domain:
		reply.Rcode = dns.RcodeNameError
	case e == nil:
	case of != nil:
		reply.Answer = records(question.Name, question.Qtype, of.addresses())
	case question.Qtype == dns.TypeSRV:
		t.services(reply, e)
	default:
		reply.Answer = records(question.Name, question.Qtype, addresses(e))
	}
	if len(reply.Answer) == 0 {
		reply.Ns = []dns.RR{&dns.SOA{
			Hdr: header(dns.Fqdn(t.domain), dns.TypeSOA), Ns: "pinion." + dns.Fqdn(t.domain), Mbox: "pinion." + dns.Fqdn(t.domain), Serial: 1, Refresh: ttl, Retry: ttl, Expire: ttl, Minttl: ttl,
		}}
	}
	return reply
}

// services answers with the SRV records of the tasks behind a name, and the addresses of their hosts.
func (t *table) services(reply *dns.Msg, e *record) {
	name := reply.Question[0].Name
	for _, r := range e.sample() {
		target, addresses := dns.Fqdn(r.host), r.addresses()
		if len(addresses) > 0 {
			target = r.label + "." + name
		}
		reply.Answer = append(reply.Answer, &dns.SRV{Hdr: header(name, dns.TypeSRV), Priority: 1, Weight: 1, Port: r.port, Target: target})
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			reply.Extra = append(reply.Extra, records(target, kind, addresses)...)
		}
	}
}

// sample are the replicas of one answer: all, or as many as it has room for, from a random one on, so that each has its share.
func (e *record) sample() []backend {
	if len(e.replicas) <= maxReplicas {
		return e.replicas
	}
	start := rand.IntN(len(e.replicas))
	first := e.replicas[start:min(start+maxReplicas, len(e.replicas))]
	return slices.Concat(first, e.replicas[:maxReplicas-len(first)])
}

// addresses is the one address of a replica, or none when its host goes by a name.
func (r *backend) addresses() []netip.Addr {
	if a, err := netip.ParseAddr(r.host); err == nil {
		return []netip.Addr{a}
	}
	return nil
}

// records are the addresses of a kind.
func records(name string, kind uint16, addresses []netip.Addr) (all []dns.RR) {
	for _, a := range addresses {
		switch {
		case kind == dns.TypeA && a.Is4():
			all = append(all, &dns.A{Hdr: header(name, kind), A: net.IP(a.AsSlice())})
		case kind == dns.TypeAAAA && !a.Is4():
			all = append(all, &dns.AAAA{Hdr: header(name, kind), AAAA: net.IP(a.AsSlice())})
		}
	}
	return all
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

package names

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"pinion/raftfsm/traffic"
)

// withTwoNames is a Routing with llm.prod, which has healthy replicas, one that is not, and one that gets no traffic yet, and chat.prod, an alias of it.
func withTwoNames() traffic.Routing {
	forward := []traffic.Rule{{Action: traffic.Action{Forward: []traffic.WeightedGroup{{Group: "llm.prod", Weight: 1}, {Group: "llm.prod+alternate"}}}}}
	return traffic.Routing{
		Listeners: []traffic.Listener{
			{ID: "llm.prod:80", Port: 80, Rules: forward, Virtual: &traffic.Virtual{Name: "llm.prod", Number: 2}},
			{ID: "chat.prod:81", Port: 81, Rules: forward, Virtual: &traffic.Virtual{Name: "chat.prod", Number: 3}},
			{ID: "public", Port: 443, Rules: forward},
		},
		Groups: []traffic.Group{{ID: "llm.prod", Targets: []traffic.Target{
			{ID: "llm.prod/t1/web/8000", Address: "10.0.0.7:32768", State: traffic.Healthy},
			{ID: "llm.prod/t2/web/8000", Address: "10.0.0.8:32769", State: traffic.Unhealthy},
			{ID: "llm.prod/t3/web/8000", Address: "gpu-3.example:32770", State: traffic.Healthy},
		}}, {ID: "llm.prod+alternate", Targets: []traffic.Target{
			{ID: "llm.prod+alternate/t4/web/8000", Address: "10.0.0.9:32768", State: traffic.Healthy},
		}}},
	}
}

// resolving are Names whose server answers at addresses of this machine: the first as the host's tasks are answered, the other as the site is.
func resolving(t *testing.T) (host, site *server) {
	t.Helper()
	n, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	n.table.Store(newTable(withTwoNames(), n.network, ""))
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	host, site = newServer(n.config.Log, n.answerHost), newServer(n.config.Log, n.answerSite)
	for _, s := range []*server{host, site} {
		s.resolver = conf
		err := s.listen("127.0.0.1:0")
		for tries := 0; err != nil && tries < 20; tries++ { // another program has that port of TCP
			err = s.listen("127.0.0.1:0")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.close)
	}
	return host, site
}

// ask is the answer of a server, as "CODE RECORD RECORD".
func ask(t *testing.T, s *server, network, name string, kind uint16) string {
	t.Helper()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	reply, _, err := (&dns.Client{Net: network}).Exchange(question, s.udp.PacketConn.LocalAddr().String())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := dns.RcodeToString[reply.Rcode]
	for _, record := range reply.Answer {
		text += " " + strings.TrimPrefix(record.String(), record.Header().String())
	}
	return text
}

// The host and its tasks get virtual addresses, the site those of the hosts that run the tasks, and both where the tasks listen.
func TestWhatANameMeans(t *testing.T) {
	host, site := resolving(t)
	for _, c := range []struct {
		name       string
		kind       uint16
		host, site string
	}{
		{"llm.prod", dns.TypeA, "NOERROR 198.18.0.2", "NOERROR 10.0.0.7"},
		{"LLM.Prod", dns.TypeA, "NOERROR 198.18.0.2", "NOERROR 10.0.0.7"},
		{"chat.prod", dns.TypeA, "NOERROR 198.18.0.3", "NOERROR 10.0.0.7"},
		{"llm.prod", dns.TypeAAAA, "NOERROR", "NOERROR"},
		{"llm.prod", dns.TypeTXT, "NOERROR", "NOERROR"},
		{"llm.prod", dns.TypeSRV, "NOERROR 1 1 32768 t1.llm.prod. 1 1 32770 gpu-3.example.", "NOERROR 1 1 32768 t1.llm.prod. 1 1 32770 gpu-3.example."},
		{"t1.llm.prod", dns.TypeA, "NOERROR 10.0.0.7", "NOERROR 10.0.0.7"},
		{"t2.llm.prod", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"gone.prod", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"prod", dns.TypeA, "NOERROR", "NOERROR"},
		{"example.com", dns.TypeA, "SERVFAIL", "REFUSED"},
		{"notprod", dns.TypeA, "SERVFAIL", "REFUSED"},
		{"llm.prod", dns.TypeAXFR, "REFUSED", "REFUSED"},
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got := ask(t, host, network, c.name, c.kind); got != c.host {
				t.Errorf("%s %s over %s: a task is answered %s, want %s", dns.TypeToString[c.kind], c.name, network, got, c.host)
			}
			if got := ask(t, site, network, c.name, c.kind); got != c.site {
				t.Errorf("%s %s over %s: the site is answered %s, want %s", dns.TypeToString[c.kind], c.name, network, got, c.site)
			}
		}
	}
}

// forwarder is a resolver of a host, which answers with an address.
func forwarder(t *testing.T, answer func(dns.ResponseWriter, *dns.Msg)) string {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(answer)}
	go server.ActivateAndServe()
	t.Cleanup(func() { packets.Close() })
	return packets.LocalAddr().String()
}

// A name that is none of the pool is asked of the host's resolvers. An answer to another question is not passed on, and neither are more
// questions than there may be at once.
func TestTheRestIsForwarded(t *testing.T) {
	host, _ := resolving(t)
	arrived, release := make(chan struct{}, maxForwarded), make(chan struct{})
	upstream := forwarder(t, func(w dns.ResponseWriter, request *dns.Msg) {
		reply := new(dns.Msg).SetReply(request)
		switch name := request.Question[0].Name; {
		case strings.HasPrefix(name, "slow"):
			arrived <- struct{}{}
			<-release
		case name == "wrong.example.":
			reply.Question[0].Name = "other.example."
		}
		reply.Answer = []dns.RR{&dns.A{Hdr: header(reply.Question[0].Name, dns.TypeA), A: net.IPv4(192, 0, 2, 1)}}
		_ = w.WriteMsg(reply)
	})
	address, port, _ := net.SplitHostPort(upstream)
	host.port = port
	if err := os.WriteFile(host.resolver, []byte("nameserver 198.18.0.1\nnameserver "+address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"right.example": "NOERROR 192.0.2.1", "wrong.example": "SERVFAIL"} {
		if got := ask(t, host, "udp", name, dns.TypeA); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var waiting sync.WaitGroup
	flood := func(client string) {
		waiting.Go(func() {
			host.forward(query{new(dns.Msg).SetQuestion("slow.example.", dns.TypeA), client, false}, traffic.DefaultVirtualRange)
		})
	}
	const containers = 10 // of one task
	for i := range containers * maxPerClient {
		flood(fmt.Sprint("10.88.0.", 2+i%containers))
		<-arrived
	}
	if host.forwarded.take("10.88.0.2") {
		t.Errorf("a client that has %d of the slots gets one more", maxPerClient)
	}
	if got := ask(t, host, "udp", "right.example", dns.TypeA); got != "NOERROR 192.0.2.1" {
		t.Errorf("beside a task that floods, a question is answered %s", got)
	}
	for i := range maxForwarded - containers*maxPerClient {
		flood(fmt.Sprint("10.88.1.", i))
		<-arrived
	}
	if got := ask(t, host, "udp", "right.example", dns.TypeA); got != "SERVFAIL" {
		t.Errorf("one question more is answered %s", got)
	}
	if got := ask(t, host, "udp", "llm.prod", dns.TypeA); got != "NOERROR 198.18.0.2" {
		t.Errorf("while no more is forwarded, a name is answered %s", got)
	}
	close(release)
	waiting.Wait()
}

func TestNumbersOfVirtualAddresses(t *testing.T) {
	n, err := newNetwork(traffic.DefaultVirtualRange)
	if err != nil {
		t.Fatal(err)
	}
	if n.gateway.String() != "198.19.0.1" {
		t.Errorf("the host is %v", n.gateway)
	}
	for number, want := range map[int]string{1: "198.18.0.1", 258: "198.18.1.2", 0: "invalid IP", 1 << 16: "invalid IP"} {
		if got, _ := n.address(number); got.String() != want {
			t.Errorf("number %d is %v, want %s", number, got, want)
		}
	}
}

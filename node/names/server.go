package names

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Bounds of questions.
const (
	maxForwarded   = 256             // questions that wait for another resolver at once
	maxConnections = 256             // of DNS over TCP
	maxPerClient   = 20              // of either for one address: a task has ten containers at most, and each may have its own
	maxQuestions   = 100             // over one connection
	idleTimeout    = 5 * time.Second // of a connection
	forwardTimeout = 2 * time.Second // of each resolver that is asked
	maxResolvers   = 3
	maxDatagram    = 1232 // of an answer over UDP, whatever the client says that it takes: one packet, and little for who asks in the name of another
)

// resolvConf is the file with a host's resolvers.
const resolvConf = "/etc/resolv.conf"

// query is one question, and the client's.
type query struct {
	*dns.Msg
	client  string // its address
	overTCP bool
}

func clientOf(remote net.Addr) string {
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		return remote.String()
	}
	return host
}

// slots are for the questions that are forwarded, or for connections. A client has maxPerClient at most, and gets none while it has as many as are free,
// so that whoever floods leaves room for all others.
type slots struct {
	size int
	many string // the address that many clients have, those on the network of the host: they may have as many as are free

	mu       sync.Mutex
	taken    int
	byClient map[string]int
}

func newSlots(size int) slots { return slots{size: size, byClient: map[string]int{}} }

func (s *slots) take(client string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.size - s.taken
	if client != s.many {
		most = min(most, maxPerClient)
	}
	if s.byClient[client] >= most {
		return false
	}
	s.taken++
	s.byClient[client]++
	return true
}

func (s *slots) giveBack(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.byClient[client]--; s.byClient[client] == 0 {
		delete(s.byClient, client)
	}
}

// boundedListener closes connections for which their client has no slot.
type boundedListener struct {
	net.Listener
	slots *slots
}

// Accept returns the next connection that has a slot until it is closed.
func (l boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(conn.RemoteAddr())
		if l.slots.take(client) {
			return &boundedConn{conn, sync.OnceFunc(func() { l.slots.giveBack(client) })}, nil
		}
		_ = conn.Close()
	}
}

// boundedConn is a connection that has a slot.
type boundedConn struct {
	net.Conn
	giveBack func()
}

// Close closes the connection and gives its slot back.
func (c *boundedConn) Close() error {
	defer c.giveBack()
	return c.Conn.Close()
}

// server answers DNS over UDP and TCP.
type server struct {
	address     string // without the port
	log         *slog.Logger
	answer      func(s *server, q query) *dns.Msg
	forwarded   slots
	connections slots
	resolver    string // the file that names resolvers
	port        string // of these
	udp, tcp    *dns.Server
}

func newServer(log *slog.Logger, answer func(*server, query) *dns.Msg) *server {
	return &server{log: log, answer: answer, forwarded: newSlots(maxForwarded), connections: newSlots(maxConnections), resolver: resolvConf, port: "53"}
}

// listen opens both ports and answers there until close.
func (s *server) listen(address string) error {
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return fmt.Errorf("answer DNS: %w", err)
	}
	connections, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		_ = packets.Close()
		return fmt.Errorf("answer DNS: %w", err)
	}
	s.udp = &dns.Server{PacketConn: packets, Handler: s.handler(false)}
	s.tcp = &dns.Server{
		Listener: boundedListener{connections, &s.connections}, Handler: s.handler(true), MaxTCPQueries: maxQuestions,
		ReadTimeout: idleTimeout, WriteTimeout: idleTimeout, IdleTimeout: func() time.Duration { return idleTimeout },
	}
	for _, each := range []*dns.Server{s.udp, s.tcp} {
		started := make(chan struct{})
		each.NotifyStartedFunc = func() { close(started) }
		go func() {
			if err := each.ActivateAndServe(); err != nil && !errors.Is(err, net.ErrClosed) {
				s.log.Error("DNS is not answered any more", "address", address, "error", err)
			}
		}()
		<-started
	}
	return nil
}

func (s *server) close() {
	_ = s.udp.Shutdown() // the sockets are closed in any case
	_ = s.tcp.Shutdown()
}

// handler answers one question of the Internet; what is no such question is refused.
func (s *server) handler(overTCP bool) dns.HandlerFunc {
	return func(w dns.ResponseWriter, request *dns.Msg) {
		var reply *dns.Msg
		switch {
		case request.Response:
			return // answers are never answered
		case request.Opcode != dns.OpcodeQuery || len(request.Question) != 1:
			reply = failure(request, dns.RcodeNotImplemented)
		case request.Question[0].Qclass != dns.ClassINET || request.Question[0].Qtype == dns.TypeAXFR || request.Question[0].Qtype == dns.TypeIXFR:
			reply = failure(request, dns.RcodeRefused)
		default:
			reply = s.answer(s, query{request, clientOf(w.RemoteAddr()), overTCP})
		}
		size := dns.MaxMsgSize
		if !overTCP {
			size = dns.MinMsgSize
			if opt := request.IsEdns0(); opt != nil {
				size = min(max(size, int(opt.UDPSize())), maxDatagram)
			}
		}
		reply.Truncate(size)
		_ = w.WriteMsg(reply) // the client asks again
	}
}

// forward has the resolvers of the host answer a question, one after another until one does.
func (s *server) forward(q query, own netip.Prefix) *dns.Msg {
	request := q.Msg
	if !s.forwarded.take(q.client) {
		return failure(request, dns.RcodeServerFailure)
	}
	defer s.forwarded.giveBack(q.client)
	config, err := dns.ClientConfigFromFile(s.resolver)
	if err != nil {
		return failure(request, dns.RcodeServerFailure)
	}
	client := &dns.Client{Net: "udp", Timeout: forwardTimeout}
	if q.overTCP {
		client.Net = "tcp"
	}
	question := request.Copy()
	for _, address := range config.Servers[:min(len(config.Servers), maxResolvers)] {
		if a, err := netip.ParseAddr(address); err == nil && own.Contains(a.Unmap()) {
			continue // the host resolves by this very server
		}
		question.Id = dns.Id()
		reply, _, err := client.Exchange(question, net.JoinHostPort(address, s.port))
		if err != nil || len(reply.Question) != 1 || !strings.EqualFold(reply.Question[0].String(), request.Question[0].String()) {
			continue
		}
		reply.Id = request.Id
		return reply
	}
	return failure(request, dns.RcodeServerFailure)
}

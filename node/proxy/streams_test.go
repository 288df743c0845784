package proxy_test

import (
	"bytes"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"pinion/raftfsm/traffic"
)

// tcpServer is a target of TCP: each connection is handled on its own.
func (s *site) tcpServer(handle func(net.Conn)) traffic.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return target(l.Addr().String())
}

func overTCP(g traffic.Group) traffic.Routing {
	g.Protocol = traffic.TCP
	return traffic.Routing{Listeners: []traffic.Listener{listener(90, traffic.TCP, forward(g.ID))}, Groups: []traffic.Group{g}}
}

// TestAnEndIsPassedOnAlone: the target answers only after the client has said that nothing more comes.
func TestAnEndIsPassedOnAlone(t *testing.T) {
	s := newSite(t)
	s.apply(overTCP(group("db", s.refused(), s.tcpServer(func(c net.Conn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.ToUpper(all))
	}))))
	for range 10 {
		conn := s.dial(90)
		_, _ = io.WriteString(conn, "hello")
		_ = conn.(*net.TCPConn).CloseWrite()
		if all, err := io.ReadAll(conn); string(all) != "HELLO" || err != nil {
			t.Fatalf("%q, %v", all, err)
		}
	}
	s.eventually(func() bool { ended, _ := s.ended("db"); return ended == 10 && s.metrics("db", "").InFlight == 0 })
}

func TestASilentConnectionIsCutOff(t *testing.T) {
	s := newSite(t)
	routing := overTCP(group("db", s.tcpServer(func(c net.Conn) { _, _ = io.Copy(c, c) })))
	routing.Listeners[0].IdleTimeout = 100 * time.Millisecond
	s.apply(routing)
	conn := s.dial(90)
	_, _ = io.WriteString(conn, "x")
	if all, err := io.ReadAll(conn); string(all) != "x" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

func TestATargetIsToldOfItsClient(t *testing.T) {
	s := newSite(t)
	g := group("db", s.tcpServer(func(c net.Conn) { _, _ = io.Copy(c, c) }))
	g.ProxyProtocol = true
	s.apply(overTCP(g))
	conn := s.dial(90)
	header := make([]byte, 28)
	if _, err := io.ReadFull(conn, header); err != nil {
		t.Fatal(err)
	}
	from, to := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	want := append([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"), append(append([]byte{}, from.IP.To4()...), to.IP.To4()...)...)
	want = append(want, byte(from.Port>>8), byte(from.Port), byte(to.Port>>8), byte(to.Port))
	if !bytes.Equal(header, want) {
		t.Errorf("%q, want %q", header, want)
	}
}

func TestAClientOfTCPIsClosedWhenNoTargetAnswers(t *testing.T) {
	s := newSite(t)
	s.apply(overTCP(group("db", s.refused())))
	if all, err := io.ReadAll(s.dial(90)); len(all) > 0 || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	s.eventually(func() bool { _, errors := s.ended("db"); return errors == 1 })
}

// TestWeightsThatCannotBeAddedUpEndNoProxy: whatever the weights of its rules are, a listener serves.
func TestWeightsThatCannotBeAddedUpEndNoProxy(t *testing.T) {
	s := newSite(t)
	echo := func() traffic.Target { return s.tcpServer(func(c net.Conn) { _, _ = io.Copy(c, c) }) }
	routing := overTCP(group("a", echo()))
	b := group("b", echo())
	b.Protocol = traffic.TCP
	routing.Groups = append(routing.Groups, b)
	routing.Listeners[0].Rules[0].Action.Forward = []traffic.WeightedGroup{{Group: "a", Weight: math.MaxInt}, {Group: "b", Weight: math.MaxInt}}
	s.apply(routing)
	conn := s.dial(90)
	_, _ = io.WriteString(conn, "x")
	_ = conn.(*net.TCPConn).CloseWrite()
	if all, err := io.ReadAll(conn); string(all) != "x" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

// A client that leaves while it waits for a target makes room for others, and starts no task of a service at zero any more. One that has sent
// something and has said that nothing more comes waits on, and loses nothing by it.
func TestAClientOfTCPThatLeavesWaitsNoMore(t *testing.T) {
	s := newSite(t)
	g := group("db")
	g.MaxWaiting = 2
	s.apply(overTCP(g))
	waiting := func(n int) func() bool { return func() bool { return s.metrics("db", "").Waiting == n } }
	for range 3 {
		leaves, breaks := s.dial(90), s.dial(90)
		s.eventually(waiting(2))
		leaves.Close()
		_ = breaks.(*net.TCPConn).SetLinger(0)
		breaks.Close()
		s.eventually(waiting(0))
	}
	conn := s.dial(90)
	_, _ = io.WriteString(conn, "hello")
	_ = conn.(*net.TCPConn).CloseWrite()
	silent := s.dial(90)
	s.eventually(waiting(2))
	s.apply(overTCP(group("db", s.tcpServer(func(c net.Conn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.ToUpper(all))
	}))))
	if all, err := io.ReadAll(conn); string(all) != "HELLO" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	_, _ = io.WriteString(silent, "later")
	_ = silent.(*net.TCPConn).CloseWrite()
	if all, err := io.ReadAll(silent); string(all) != "LATER" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

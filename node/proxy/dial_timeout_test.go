package proxy_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/traffic"
)

// silent is a target that answers no attempt to connect: its queue of connections is full.
func (s *site) silent() traffic.Target {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		s.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		s.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		s.Fatal(err)
	}
	address := "127.0.0.1:" + strconv.Itoa(bound.(*unix.SockaddrInet4).Port)
	for {
		conn, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return target(address)
		}
		s.Cleanup(func() { conn.Close() })
	}
}

// A target that cannot be connected to is not one that takes too long for a request: the request may go elsewhere, and a client of gRPC is told so.
func TestATargetThatAnswersNoConnectionIsUnavailable(t *testing.T) {
	s := newSite(t)
	silent := s.silent()
	s.apply(toGroup(group("web", silent)))
	if status, body := s.get(80, "/"); status != http.StatusBadGateway || !strings.Contains(body, "no target of group web answered") {
		t.Errorf("%d %q", status, body)
	}
	g := group("web", silent)
	g.Version = traffic.GRPC
	s.apply(toGroup(g))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer client.CloseIdleConnections()
	answer, err := client.Post("http://"+s.address(80)+"/a.B/C", "application/grpc", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if code := answer.Header.Get("Grpc-Status"); code != "14" {
		t.Errorf("the status of gRPC is %s: %s", code, answer.Header.Get("Grpc-Message"))
	}
}

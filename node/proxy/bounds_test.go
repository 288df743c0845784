package proxy_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"pinion/node/proxy"
)

// TestRequestsUnderWayAreBounded: over one connection of HTTP/2 a client has no more of them, and no more connections to targets, than the listener
// takes of all clients.
func TestRequestsUnderWayAreBounded(t *testing.T) {
	const most, asked = 4, 100
	s := newSite(t, func(c *proxy.Config) { c.MaxConnections = most })
	begun, finish := make(chan bool, asked), make(chan bool)
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/connect" {
			begun <- true
			<-finish
		}
	}))))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	if answer, err := client.Get("http://" + s.address(80) + "/connect"); err != nil || answer.Body.Close() != nil {
		t.Fatal(err)
	}
	statuses := make(chan int, asked)
	var all sync.WaitGroup
	for range asked {
		all.Go(func() {
			answer, err := client.Get("http://" + s.address(80))
			if err != nil {
				t.Error(err)
				statuses <- 0
				return
			}
			answer.Body.Close()
			statuses <- answer.StatusCode
		})
	}
	for range asked - most {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("one beyond the bound is answered with %d", status)
		}
	}
	close(finish)
	all.Wait()
	if len(begun) != most {
		t.Errorf("%d requests reached the target at once, and %d may", len(begun), most)
	}
	for range most {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("one within the bound is answered with %d", status)
		}
	}
}

// TestOneAddressKeepsNobodyElseOut: it holds all connections with requests that never end, and the client of another address is served.
func TestOneAddressKeepsNobodyElseOut(t *testing.T) {
	const most = 64
	s := newSite(t, func(c *proxy.Config) { c.MaxConnections = most })
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))))
	for range most {
		conn := s.dial(80)
		if err := s.request(conn); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, chunked("1\r\n")) // and no more
	}
	s.eventually(func() bool { return s.metrics("web", "").InFlight == most })
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := other.Dial("tcp", s.address(80))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.request(conn); err != nil {
		t.Errorf("the client of another address: %v", err)
	}
}

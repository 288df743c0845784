package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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

// TestRequestsOfOneAddressKeepNobodyElseOut: over few connections of HTTP/2 it has as many requests under way as there may be, and the client of another
// address is served.
func TestRequestsOfOneAddressKeepNobodyElseOut(t *testing.T) {
	const most = 64
	s := newSite(t, func(c *proxy.Config) { c.MaxConnections = most })
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	var bodies []io.Closer
	var ended sync.WaitGroup
	for range 2 {
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		for range most {
			body, open := io.Pipe()
			bodies = append(bodies, open)
			ended.Go(func() {
				if answer, err := client.Post("http://"+s.address(80), "", body); err == nil {
					answer.Body.Close()
				}
			})
		}
		s.eventually(func() bool { return s.metrics("web", "").InFlight == most })
	}
	s.eventually(func() bool {
		conn := s.dialFrom(2, 80)
		_, _ = io.WriteString(conn, get+"\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		return err == nil && answer.StatusCode == http.StatusOK
	})
	for _, body := range bodies {
		body.Close()
	}
	ended.Wait()
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
	if err := s.request(s.dialFrom(2, 80)); err != nil {
		t.Errorf("the client of another address: %v", err)
	}
}

// dialFrom connects to the listener of a port from an address of this machine: 127.0.0.N.
func (s *site) dialFrom(n byte, port int) net.Conn {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	conn, err := dialer.Dial("tcp", s.address(port))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	return conn
}

// TestHeadersOfARequestAreBounded: a connection of HTTP/2 can hold those of hundreds of requests that nobody answers yet.
func TestHeadersOfARequestAreBounded(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.named("web"))))
	for size, want := range map[int]int{24 << 10: http.StatusOK, 40 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address(80), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			r.Header.Set(fmt.Sprint("X-", i), strings.Repeat("x", size/4))
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d bytes of headers: %d", size, answer.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

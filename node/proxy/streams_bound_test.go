package proxy_test

import (
	"io"
	"net"
	"testing"

	"pinion/node/proxy"
)

// TestConnectionsOfOneAddressCutOffNoOthers: a connection of TCP that says nothing for a while is not idle, as one of HTTP between two requests is. Of
// the connections that another address opens without end, none costs it.
func TestConnectionsOfOneAddressCutOffNoOthers(t *testing.T) {
	const most = 64
	s := newSite(t, func(c *proxy.Config) { c.MaxConnections = most })
	s.apply(overTCP(group("db", s.tcpServer(func(c net.Conn) { _, _ = io.Copy(c, c) }))))
	quiet := s.dialFrom(2, 90)
	if err := s.echo(quiet); err != nil {
		t.Fatal(err)
	}
	for range 3 * most {
		_ = s.echo(s.dial(90)) // refused when there are too many
	}
	if err := s.echo(quiet); err != nil {
		t.Errorf("the connection of another address: %v", err)
	}
	if err := s.echo(s.dialFrom(3, 90)); err != nil {
		t.Errorf("a new connection of a third address: %v", err)
	}
}

// echo says a byte and waits until it comes back.
func (s *site) echo(conn net.Conn) error {
	if _, err := conn.Write([]byte{'.'}); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

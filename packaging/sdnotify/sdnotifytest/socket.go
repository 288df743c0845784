// Package sdnotifytest stands in for systemd: a socket that hears what a service of Type=notify tells.
package sdnotifytest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Socket is the socket of NOTIFY_SOCKET.
type Socket struct {
	t    *testing.T
	conn *net.UnixConn
	Path string // of the socket
}

// Listen makes a socket, and has NOTIFY_SOCKET name it until the test ends.
func Listen(t *testing.T) *Socket {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify-") // t.TempDir has a path too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &Socket{t: t, conn: conn, Path: path}
}

// Next is the next notification; empty when none comes for so long.
func (s *Socket) Next(within time.Duration) string {
	s.t.Helper()
	s.conn.SetReadDeadline(time.Now().Add(within))
	message := make([]byte, 4<<10)
	n, err := s.conn.Read(message)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatal(err)
	}
	return string(message[:n])
}

// Drain forgets what was told already.
func (s *Socket) Drain() {
	for s.Next(time.Millisecond) != "" {
	}
}

// Await is the first message that begins with prefix, and fails the test when there is none in time.
func (s *Socket) Await(prefix string, within time.Duration) string {
	s.t.Helper()
	for end := time.Now().Add(within); ; {
		message := s.Next(time.Until(end))
		if strings.HasPrefix(message, prefix) {
			return message
		}
		if message == "" {
			s.t.Fatalf("systemd does not hear %s", prefix)
		}
	}
}

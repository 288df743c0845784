package api

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"testing"
)

// unread are the bytes that a server of HTTP/2 takes on a connection before anybody reads them: the window of the connection, and of each
// stream, the longest frame, and how many streams: Go has four times as many wait that were reset at once, with their headers.
func unread(t *testing.T, c net.Conn) (ofConnection, ofStream, frame, streams uint32) {
	t.Helper()
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil { // and empty settings
		t.Fatal(err)
	}
	ofConnection, ofStream, frame, streams = 1<<16-1, 1<<16-1, 16<<10, 1<<32-1
	for read := false; ; {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			t.Fatal(err)
		}
		switch kind := head[3]; {
		case kind == 4 && len(payload) == 0: // it has read ours: what it had to say at first is said
			read = true
		case kind == 4:
			for ; len(payload) >= 6; payload = payload[6:] {
				switch value := binary.BigEndian.Uint32(payload[2:]); binary.BigEndian.Uint16(payload) {
				case 3:
					streams = value
				case 4:
					ofStream = value
				case 5:
					frame = value
				}
			}
		case kind == 8:
			ofConnection += binary.BigEndian.Uint32(payload)
		}
		if read {
			return ofConnection, ofStream, frame, streams
		}
	}
}

// HTTP/2 has many requests on one connection. What a client sends before their bodies are read is little, as on one of HTTP/1.1.
func TestAConnectionOfHTTP2HoldsLittleThatIsNotRead(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, newFixture(t).config) }()
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	if ofConnection, ofStream, frame, streams := unread(t, c); ofConnection > 128<<10 || ofStream > 64<<10 || frame > 16<<10 || streams > 64 {
		t.Errorf("a connection takes %d bytes unread, a stream %d, in frames of %d, on %d streams", ofConnection, ofStream, frame, streams)
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

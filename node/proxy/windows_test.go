package proxy_test

import (
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"

	"pinion/raftfsm/traffic"
)

// mostUnread bounds the unread bytes of an HTTP/2 connection to a client, and of a stream to a target.
const mostUnread = 128 << 10

// windows are the bytes that the other end of an HTTP/2 connection takes before anybody reads them, by its frames until one of a type, and the number of streams.
func windows(t *testing.T, framer *http2.Framer, last http2.FrameType) (connection, stream, streams uint32) {
	t.Helper()
	connection, stream, streams = 65_535, 65_535, 1<<32-1
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if size, given := f.Value(http2.SettingInitialWindowSize); given {
				stream = size
			}
			if most, given := f.Value(http2.SettingMaxConcurrentStreams); given {
				streams = most
			}
		case *http2.WindowUpdateFrame:
			connection += f.Increment
		}
		if frame.Header().Type == last {
			return connection, stream, streams
		}
	}
}

func TestAListenersConnectionOfHTTP2HoldsLittleThatIsNotRead(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.named("web"))))
	conn := s.dial(80)
	framer := http2.NewFramer(conn, conn)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = framer.WriteSettings()
	_ = framer.WritePing(false, [8]byte{})
	if connection, stream, streams := windows(t, framer, http2.FramePing); connection > mostUnread || stream > mostUnread || streams > 128 {
		t.Errorf("a connection takes %d bytes unread, a stream %d, on %d streams", connection, stream, streams)
	}
}

// A target that sends much to a client who does not read has the proxy hold little of it.
func TestAStreamOfATargetHoldsLittleThatIsNotRead(t *testing.T) {
	s, unread := newSite(t), make(chan uint32, 1)
	g := group("web", s.tcpServer(func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		_, stream, _ := windows(t, http2.NewFramer(c, c), http2.FrameHeaders)
		unread <- stream
	}))
	g.Version = traffic.HTTP2
	s.apply(toGroup(g))
	s.get(80, "/")
	if stream := <-unread; stream > mostUnread {
		t.Errorf("a stream takes %d bytes unread", stream)
	}
}

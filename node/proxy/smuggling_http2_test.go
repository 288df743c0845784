package proxy_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"pinion/raftfsm/traffic"
)

// fields are headers in pairs of name and value; those of a request to / are added where they lack.
func fields(pairs ...string) (all []hpack.HeaderField) {
	usual := []string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a"}
	for i := 0; i < len(usual); i += 2 {
		if !strings.Contains(strings.Join(pairs, "\x00"), usual[i]) {
			all = append(all, hpack.HeaderField{Name: usual[i], Value: usual[i+1]})
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

// TestHTTP2IsReadInOneWayOrRefused: what HTTP/2 can say and HTTP/1.1 would read as something else. Refused is a stream that is reset, or 4xx.
func TestHTTP2IsReadInOneWayOrRefused(t *testing.T) {
	forms := []struct {
		name   string
		fields []hpack.HeaderField
		saw    string
	}{
		{"a request", fields(), whole},
		{"an encoding", fields("transfer-encoding", "chunked"), ""},
		{"a connection", fields("connection", "close"), ""},
		{"a longer length", fields("content-length", "50"), ""},
		{"a shorter length", fields("content-length", "1"), ""},
		{"two lengths", fields("content-length", "5", "content-length", "6"), ""},
		{"a line end in a value", fields("x", "y\r\ntransfer-encoding: chunked"), ""},
		{"a line end in a name", fields("x: y\r\nz", "y"), ""},
		{"capital letters", fields("Content-Length", "5"), ""},
		{"a request in the method", fields(":method", "GET /x HTTP/1.1\r\nHost: b\r\n\r\nPOST"), ""},
		{"a space in the method", fields(":method", "GET /x"), ""},
		{"a request in the path", fields(":path", "/ HTTP/1.1\r\nHost: b\r\n\r\nGET /x"), ""},
		{"a space in the path", fields(":path", "/x HTTP/1.1"), "POST /x%20HTTP/1.1 a hello"},
		{"a line end in the authority", fields(":authority", "a\r\nX: y"), ""},
		{"two paths", fields(":path", "/x", ":path", "/y"), ""},
		{"two authorities", fields("host", "b"), whole},
		{"an unknown pseudo header", fields(":x", "y"), ""},
		{"no path", fields(":path", ""), ""},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s, strict := newSite(t), &strictTarget{}
			s.apply(toGroup(group("web", s.tcpServer(strict.serve))))
			ended := s.overHTTP2(f.fields, "hello")
			if saw := strict.saw(); saw != f.saw || (f.saw == "") != (ended != "200") {
				t.Errorf("the target saw %q, the client got %s; want %q", saw, ended, f.saw)
			}
		})
	}
}

// overHTTP2 sends one request, whatever it says, and returns the status, or the name of the frame that ended it.
func (s *site) overHTTP2(headers []hpack.HeaderField, body string) string {
	s.Helper()
	conn := s.dial(80)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range headers {
		_ = encoder.WriteField(h)
	}
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = framer.WriteData(1, true, []byte(body))
	for {
		frame, err := framer.ReadFrame()
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return frame.Header().Type.String()
		}
		if err != nil {
			return err.Error()
		}
	}
}

// TestWhatHTTP2SaysWrongIsNoFaultOfATarget: HTTP/2 carries hosts and queries that HTTP/1.1 has no form for. They are refused before a target is
// blamed for them.
func TestWhatHTTP2SaysWrongIsNoFaultOfATarget(t *testing.T) {
	for name, field := range map[string][]hpack.HeaderField{
		"a space in the query":      fields(":method", "GET", ":path", "/?a b"),
		"a space in the authority":  fields(":method", "GET", ":authority", "a b"),
		"a quote in the authority":  fields(":method", "GET", ":authority", "a\"b"),
		"no text in the authority":  fields(":method", "GET", ":authority", "\xff"),
		"a domain that cannot be":   fields(":method", "GET", ":authority", "xn--\u00fc"),
		"a zone in the authority":   fields(":method", "GET", ":authority", "[fe80::1%25eth0]"),
		"a zone without an address": fields(":method", "GET", ":authority", "%eth0"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			g := group("web", s.named("a"), s.named("b"))
			g.Algorithm = traffic.RoundRobin
			s.apply(toGroup(g))
			for range 20 {
				if got := s.overHTTP2(field, ""); got == "502" {
					t.Fatal("a target is blamed")
				}
			}
			if counts := s.counted(20, nil); counts["a"] != 10 || counts["b"] != 10 {
				t.Errorf("requests go to %v: a target was driven out", counts)
			}
		})
	}
}

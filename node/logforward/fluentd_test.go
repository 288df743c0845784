package logforward

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// forwardServer speaks the forward protocol with MessagePack of a library, and acknowledges what asks for it.
type forwardServer struct {
	mu      sync.Mutex
	tag     string
	records []map[string]any
	times   []any
}

func (s *forwardServer) serve(conn net.Conn) {
	defer conn.Close()
	handle := &codec.MsgpackHandle{WriteExt: true}
	handle.RawToString = true
	in, out := codec.NewDecoder(conn, handle), codec.NewEncoder(conn, handle)
	for {
		var message []any
		if in.Decode(&message) != nil {
			return
		}
		s.mu.Lock()
		s.tag = message[0].(string)
		for _, entry := range message[1].([]any) {
			record := map[string]any{}
			for name, value := range entry.([]any)[1].(map[any]any) {
				record[name.(string)] = value
			}
			s.times, s.records = append(s.times, entry.([]any)[0]), append(s.records, record)
		}
		s.mu.Unlock()
		if chunk, asked := message[2].(map[any]any)["chunk"]; asked && out.Encode(map[string]any{"ack": chunk}) != nil {
			return
		}
	}
}

func (s *forwardServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

func newForwardServer(t *testing.T, network, address string) (s *forwardServer, at string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s = &forwardServer{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s, l.Addr().String()
}

// A server of the forward protocol gets what Docker's driver sends, over TCP and a socket of the host, with acknowledgements and without.
func TestFluentd(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"tcp": {}, "acknowledged": {"fluentd-request-ack": "true", "fluentd-sub-second-precision": "true"}, "socket": {"tag": "train.{{.ID}}"},
	} {
		t.Run(name, func(t *testing.T) {
			network, address, scheme := "tcp", "127.0.0.1:0", "tcp://"
			if name == "socket" {
				network, address, scheme = "unix", t.TempDir()+"/s", "unix://"
			}
			server, at := newForwardServer(t, network, address)
			w := newLog(t)
			options["fluentd-address"] = scheme + at
			f := w.forward(logdriver.Fluentd, options, scheme+at)
			w.add(1500, strings.Repeat("long ", 20)+"line ")
			f.markEnded(of.Task)
			w.end()
			eventually(t, "the end", func() bool { return !w.noted() })
			eventually(t, "the lines", func() bool { return server.count() == 1500 })
			first := server.records[0]
			if first["log"] != strings.Repeat("long ", 20)+"line 0" || first["source"] != "stdout" || first["container_id"] != "0123456789abcdef.main" || first["container_name"] != "/0123456789abcdef.main" || first["team"] != "a" {
				t.Errorf("%v", first)
			}
			if want := map[string]string{"socket": "train.0123456789ab.main"}[name]; want != "" && server.tag != want || want == "" && server.tag != "0123456789ab.main" {
				t.Errorf("tag %q", server.tag)
			}
			switch at := server.times[1].(type) {
			case *codec.RawExt:
				if name != "acknowledged" || binary.BigEndian.Uint32(at.Data) != 1_800_000_000 || binary.BigEndian.Uint32(at.Data[4:]) != 1e6 {
					t.Errorf("%v", at)
				}
			case codec.RawExt:
				if name != "acknowledged" || binary.BigEndian.Uint32(at.Data) != 1_800_000_000 || binary.BigEndian.Uint32(at.Data[4:]) != 1e6 {
					t.Errorf("%v", at)
				}
			case uint64, int64:
				if name == "acknowledged" {
					t.Errorf("%v", at)
				}
			default:
				t.Errorf("a time is a %T", at)
			}
		})
	}
}

// MessagePack of each length is what the library reads.
func TestMessagePack(t *testing.T) {
	for _, n := range []int{0, 31, 32, 255, 256, 65_535, 65_536, 262_144} {
		var got string
		if err := codec.NewDecoder(bytes.NewReader(packString(nil, strings.Repeat("x", n))), &codec.MsgpackHandle{}).Decode(&got); err != nil || len(got) != n {
			t.Errorf("%d: %d, %v", n, len(got), err)
		}
	}
	for _, n := range []int{0, 15, 16, 1000} {
		lines := slices.Repeat([]logs.StreamLine{{Time: time.Unix(1, 0), Text: "x", Partial: true}}, n)
		var got []any
		m := fluentd{note: &forwardRecord{}, tag: "t"}.message(lines, "")
		if err := codec.NewDecoder(bytes.NewReader(m), &codec.MsgpackHandle{}).Decode(&got); err != nil || len(got) != 3 || len(got[1].([]any)) != n {
			t.Errorf("%d entries: %v", n, err)
		}
	}
}

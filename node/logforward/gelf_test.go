package logforward

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// assemble puts the messages of packets together, as a GELF server does.
func assemble(t *testing.T, packets []string) (messages []map[string]any) {
	t.Helper()
	parts := map[string][]string{}
	for _, p := range packets {
		whole := p
		if strings.HasPrefix(p, "\x1e\x0f") {
			id, number, count := p[2:10], int(p[10]), int(p[11])
			if parts[id] == nil {
				parts[id] = make([]string, count)
			}
			parts[id][number] = p[12:]
			if number != count-1 { // they come in order here
				continue
			}
			whole = strings.Join(parts[id], "")
		}
		var in io.Reader = strings.NewReader(whole)
		var err error
		switch {
		case strings.HasPrefix(whole, "\x1f\x8b"):
			in, err = gzip.NewReader(in)
		case strings.HasPrefix(whole, "x"):
			in, err = zlib.NewReader(in)
		}
		message := map[string]any{}
		if err == nil {
			err = json.NewDecoder(in).Decode(&message)
		}
		if err != nil {
			t.Fatalf("%.40q: %v", whole, err)
		}
		messages = append(messages, message)
	}
	return messages
}

func TestGELFOverUDP(t *testing.T) {
	for _, compression := range []string{"", "zlib", "none"} {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		packets := packetsOf(t, conn)
		w := newLog(t)
		to := "udp://" + conn.LocalAddr().String()
		options := map[string]string{"gelf-address": to, "tag": "t"}
		if compression != "" {
			options["gelf-compression-type"] = compression
		}
		w.forward(logdriver.GELF, options, to)
		random := rand.Text() + rand.Text()
		w.add(3, random)
		eventually(t, "the messages", func() bool { return len(packets()) == 3 })
		m := assemble(t, packets())[1]
		if m["version"] != "1.1" || m["host"] != "gpu-1" || m["short_message"] != random+"1" || m["timestamp"] != 1_800_000_000.001 || m["level"] != 6.0 || m["_tag"] != "t" || m["_team"] != "a" || m["_image_name"] != "alpine:3" {
			t.Errorf("%q: %v", compression, m)
		}
	}
}

// A long line becomes chunks that fit into packets, and one that is too long for those several messages.
func TestALongLineOfGELFIsCut(t *testing.T) {
	text := ""
	for len(text) < 100_000 {
		text += rand.Text() + "\x01"
	}
	g := gelf{note: &forwardRecord{Extra: map[string]string{"a": strings.Repeat("\x01", maxExtra)}}, packets: true, host: "h"}
	var packets []string
	for _, p := range g.encode([]logs.StreamLine{{Time: time.Unix(1, 0), Text: text}}) {
		if len(p) > gelfChunk+12 || bytes.HasPrefix(p, []byte{0x1e, 0x0f}) && int(p[11]) > gelfChunks {
			t.Fatalf("a packet of %d bytes, one of %d", len(p), p[11])
		}
		packets = append(packets, string(p))
	}
	joined := ""
	for _, m := range assemble(t, packets) {
		joined += m["short_message"].(string)
	}
	if joined != text {
		t.Error("the messages are not the line")
	}
}

func TestGELFOverTCP(t *testing.T) {
	to := listen(t, "tcp", "127.0.0.1:0", false)
	w := newLog(t)
	address := "tcp://" + to.address()
	w.forward(logdriver.GELF, map[string]string{"gelf-address": address}, address)
	w.add(2, "line ")
	eventually(t, "a connection", func() bool { return to.connections() == 1 })
	in := json.NewDecoder(io.LimitReader(&zeros{to.conns[0]}, 1<<20))
	for i := range 2 {
		var m map[string]any
		if err := in.Decode(&m); err != nil || !strings.HasPrefix(m["short_message"].(string), "line ") {
			t.Errorf("%d: %v, %v", i, m, err)
		}
	}
}

// zeros reads the bytes that end messages as blanks.
type zeros struct{ io.Reader }

func (z *zeros) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	for i := range p[:n] {
		if p[i] == 0 {
			p[i] = ' '
		}
	}
	return n, err
}

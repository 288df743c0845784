package logforward

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// The messages are those of Docker's driver, with the time of the line.
func TestSyslogMessages(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.Local)
	line, pid, offset := logs.StreamLine{Time: at, Text: "hello [x] %s"}, os.Getpid(), at.Format("Z07:00")
	for want, s := range map[string]syslog{
		fmt.Sprintf("<30>May  4 03:02:01 a tag[%d]: hello [x] %%s", pid):                                                                            {facility: 3, tag: "a tag"},
		fmt.Sprintf("<134>May  4 03:02:01 gpu-1 t[%d]: hello [x] %%s", pid):                                                                         {facility: 16, format: "rfc3164", host: "gpu-1", tag: "t"},
		fmt.Sprintf("<30>1 2026-05-04T03:02:01%s gpu-1 a_tag %d a_tag - hello [x] %%s", offset, pid):                                                {facility: 3, format: "rfc5424", host: "gpu-1", tag: "a tag"},
		fmt.Sprintf("<30>1 2026-05-04T03:02:01.987654%s - %s %d %s - hello [x] %%s", offset, strings.Repeat("t", 48), pid, strings.Repeat("t", 32)): {facility: 3, format: "rfc5424micro", tag: strings.Repeat("t", 60)},
	} {
		if got := string(s.encode([]logs.StreamLine{line})[0]); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	if got := string((syslog{facility: 3}).encode([]logs.StreamLine{{Time: at, Stderr: true}})[0]); !strings.HasPrefix(got, "<27>") {
		t.Errorf("an error is %q", got)
	}
	if got := string(framing("rfc5424", true)([]byte("grün"))); got != "5 grün" {
		t.Errorf("%q", got)
	}
	if got := string(framing("rfc5424", false)([]byte("grün"))) + string(framing("", true)([]byte("a"))); got != "grün\na\n" {
		t.Errorf("%q", got)
	}
}

// A line that is too long for a packet becomes several, cut between characters.
func TestALongLineBecomesSeveralPackets(t *testing.T) {
	text := strings.Repeat("ü", 100_000)
	joined := ""
	for _, m := range (syslog{facility: 3, tag: "t"}).encode([]logs.StreamLine{{Text: text}}) {
		_, piece, _ := strings.Cut(string(m), "]: ")
		if len(m) > 65_507 || !strings.HasPrefix(piece, "ü") {
			t.Errorf("%d bytes, %.20q", len(m), piece)
		}
		joined += piece
	}
	if joined != text {
		t.Error("the pieces are not the line")
	}
}

// The drivers of a host's own sockets tell by themselves which kind it is.
func TestSyslogOverPacketsAndSockets(t *testing.T) {
	dir := t.TempDir()
	for name, scheme := range map[string]string{"udp": "udp://", "unixgram": "unix://", "unix": "unix://"} {
		t.Run(name, func(t *testing.T) {
			var lines func() []string
			address := ""
			if name == "unix" {
				address = filepath.Join(dir, name)
				lines = listen(t, name, address, true).lines
			} else {
				at := "127.0.0.1:0"
				if name == "unixgram" {
					at = filepath.Join(dir, name)
				}
				conn, err := net.ListenPacket(name, at)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				address = conn.LocalAddr().String()
				lines = packetsOf(t, conn)
			}
			w := newLog(t)
			w.forward(logdriver.Syslog, map[string]string{"syslog-address": scheme + address, "syslog-format": "rfc5424", "tag": "train/{{ .ID }}"}, scheme+address)
			w.add(20, "line ")
			eventually(t, "the lines", func() bool { return len(lines()) == 20 })
			numbers(t, lines(), 20)
			if got := lines()[0]; !strings.Contains(got, " gpu-1 train/0123456789ab.main ") {
				t.Errorf("%q", got)
			}
		})
	}
}

// packetsOf are the packets that come.
func packetsOf(t *testing.T, conn net.PacketConn) func() []string {
	t.Helper()
	r := &receiver{}
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, _, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.got = append(r.got, string(buffer[:n]))
			r.mu.Unlock()
		}
	}()
	return r.lines
}

// A collector whose certificate is not trusted gets nothing, unless the definition says that it is not to be looked at.
func TestSyslogWithTLS(t *testing.T) {
	for skip, want := range map[string]int{"false": 0, "true": 3} {
		server, w := newTLS(t), newLog(t)
		to := "tcp://" + server.address()
		w.forward(logdriver.Syslog, map[string]string{"syslog-address": "tcp+tls://" + server.address(), "syslog-tls-skip-verify": skip}, to)
		w.add(3, "line ")
		if want == 0 {
			eventually(t, "the refusal", func() bool { return strings.Contains(w.said(), "certificate") })
		} else {
			eventually(t, "the lines", func() bool { return strings.Contains(strings.Join(server.lines(), ""), " line 2") })
		}
		if got := strings.Count(strings.Join(server.lines(), ""), " line "); got != want {
			t.Errorf("skip-verify %s: %d lines", skip, got)
		}
	}
}

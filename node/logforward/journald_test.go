package logforward

import (
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// fields reads an entry as the journal does.
func fields(t *testing.T, m string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for m != "" {
		name, rest, _ := strings.Cut(m, "\n")
		if len(rest) < 8 {
			t.Fatalf("%q", m)
		}
		n := int(binary.LittleEndian.Uint64([]byte(rest)))
		all[name], m = rest[8:8+n], rest[9+n:]
	}
	return all
}

// An entry has the fields of Docker's driver, and no text begins another field.
func TestJournald(t *testing.T) {
	conn, err := net.ListenPacket("unixgram", filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	packets := packetsOf(t, conn)
	w := newLog(t)
	f := w.forwarders()
	forwarder := &forwarder{all: f, of: of, note: forwardRecord{ID: "id", Short: "short", Image: "i", Extra: map[string]string{"_PID": "1", "com.example/team": "a\nPRIORITY=0", "1": "x"}}}
	to := logdriver.Destination{Network: "unix", Where: conn.LocalAddr().String()}
	s := &socket{dial: newDialer([]string{to.String()}, f.config.Virtual).dialing(to), to: to, encode: journald{&forwarder.note, "tag"}.encode}
	defer s.close()
	long := strings.Repeat("x", maxPacketText+1)
	if err := s.send(t.Context(), []logs.StreamLine{{Text: "a\rb", Stderr: true}, {Text: long}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the entries", func() bool { return len(packets()) == 3 })
	first, second, third := fields(t, packets()[0]), fields(t, packets()[1]), fields(t, packets()[2])
	if first["MESSAGE"] != "a\rb" || first["PRIORITY"] != "3" || first["CONTAINER_ID"] != "short" || first["CONTAINER_ID_FULL"] != "id" || first["CONTAINER_TAG"] != "tag" || first["PID"] != "1" || first["COM_EXAMPLE_TEAM"] != "a\nPRIORITY=0" || first["LABEL"] != "x" {
		t.Errorf("%q", first)
	}
	if second["MESSAGE"]+third["MESSAGE"] != long || second["CONTAINER_PARTIAL_MESSAGE"] != "true" || third["CONTAINER_PARTIAL_MESSAGE"] != "" || second["PRIORITY"] != "6" {
		t.Error("a long line is not cut into entries that go on")
	}
}

// A label becomes a field about the container in the journal, whatever its name.
func TestNoLabelSpeaksOfAnotherUnit(t *testing.T) {
	for name, want := range map[string]string{
		"team": "TEAM", "com.example.team": "COM_EXAMPLE_TEAM", "": "LABEL", "_UID": "UID", "9": "LABEL",
		"OBJECT_SYSTEMD_UNIT": "LABEL_OBJECT_SYSTEMD_UNIT", "object.pid": "LABEL_OBJECT_PID", "_OBJECT_UID": "LABEL_OBJECT_UID", "unit": "LABEL_UNIT", "USER_UNIT": "LABEL_USER_UNIT",
		"message-id": "LABEL_MESSAGE_ID", "COREDUMP_UNIT": "LABEL_COREDUMP_UNIT", "syslog_facility": "LABEL_SYSLOG_FACILITY", "units": "UNITS",
	} {
		if got := journalField(name); got != want {
			t.Errorf("%q is %s, not %s", name, got, want)
		}
	}
}

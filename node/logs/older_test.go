package logs

import (
	"os"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// The logger of a task that runs while its host is upgraded goes on to write JSON; the next one goes on behind it.
func TestTheLogOfAnOlderLoggerIsRead(t *testing.T) {
	s := NewStore(t.TempDir())
	path := s.Path("t", "a")
	write(t, path, 0, "made")
	if err := os.WriteFile(path, []byte(`{"time":"2026-01-02T12:00:01Z","stream":"stderr","log":"quoted \" and \u001b"}`+"\n"+`{"time":"2026-01-02T12:00:02Z","stream":"std`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, path, 3, "new")
	for _, q := range []spec.LogQuery{{Task: "t"}, {Task: "t", Tail: 2}, {Task: "t", Since: noon.Add(time.Second - time.Millisecond)}} {
		if got := read(t, s, q); got != "a:quoted \" and \x1b a:new" {
			t.Errorf("%+v: %q", q, got)
		}
	}
}

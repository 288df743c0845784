package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

// Whatever a container writes comes through, with and without anything to escape, in whatever pieces it arrives.
func TestALogStreamIsReadAsEncodingJSONWouldReadIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Just(strings.Repeat("x", 70<<10)))
		var stream bytes.Buffer
		var want []LogLine
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			line := LogLine{Time: time.Unix(0, rapid.Int64().Draw(t, "time")).UTC(), Container: text.Draw(t, "container"), Stream: "stdout", Text: text.Draw(t, "text")}
			encoder := json.NewEncoder(&stream)
			encoder.SetEscapeHTML(rapid.Bool().Draw(t, "escape"))
			if err := encoder.Encode(line); err != nil {
				t.Fatal(err)
			}
			want = append(want, line)
		}
		var in io.Reader = &stream
		if rapid.Bool().Draw(t, "in halves") {
			in = iotest.HalfReader(in)
		}
		lines := newLogReader(in)
		for i := range want {
			got, err := lines.next()
			got.More = false
			if err != nil || !got.Time.Equal(want[i].Time) || got.Container != want[i].Container || got.Stream != want[i].Stream || got.Text != want[i].Text {
				t.Fatalf("line %d: %.200v, %v; want %.200v", i, got, err, want[i])
			}
		}
		if got, err := lines.next(); err != io.EOF {
			t.Fatalf("after the last line: %v, %v", got, err)
		}
	})
}

func TestALogStreamThatBreaksOffIsAnError(t *testing.T) {
	whole := `{"time":"2026-01-02T03:04:05Z","container":"a","stream":"stdout","text":"x"}`
	for _, stream := range []string{whole, whole[:20], whole[:len(whole)-1] + "\n", `{"time":"no time","container":"a","stream":"stdout","text":"x"}` + "\n", strings.Repeat("x", 3<<20)} {
		if _, err := newLogReader(strings.NewReader(stream)).next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%.80q: %v", stream, err)
		}
	}
}

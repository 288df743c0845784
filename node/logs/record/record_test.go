package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A container's text comes back, but for zero bytes; cut anywhere, the line is not a record.
func TestARecordIsWholeOrNotARecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Record{
			Time:    time.Unix(0, rapid.Int64Min(0).Draw(t, "time")).UTC(),
			Stream:  rapid.SampledFrom([]string{"stdout", "stderr"}).Draw(t, "stream"),
			Partial: rapid.Bool().Draw(t, "partial"),
			Text:    bytes.ReplaceAll(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "text"), []byte("\n"), nil),
		}
		line := Append(nil, want)
		got, whole := Parse(line)
		want.Text = bytes.ReplaceAll(want.Text, []byte{0}, []byte("\uFFFD"))
		if !whole || !got.Time.Equal(want.Time) || got.Stream != want.Stream || got.Partial != want.Partial || !bytes.Equal(got.Text, want.Text) {
			t.Fatalf("%q is %+v, %v; want %+v", line, got, whole, want)
		}
		for cut := range line {
			if IsWhole(line[:cut]) || IsWhole(append(bytes.Clone(line[:cut]), '\n')) && cut < len(line)-1 {
				t.Fatalf("%q, cut after %d bytes, is taken for a record", line, cut)
			}
		}
		for at := range len(line) - 1 {
			zeroed := bytes.Clone(line)
			zeroed[at] = 0
			if IsWhole(zeroed) {
				t.Fatalf("%q, with a zero at %d, is taken for a record", line, at)
			}
		}
	})
}

func TestARecordTakesLittleMoreThanItsText(t *testing.T) {
	text := strings.Repeat("x", 100)
	line := Append(nil, Record{Time: time.Now(), Stream: "stdout", Text: []byte(text)})
	if own := len(line) - len(text); own > 30 {
		t.Errorf("%d bytes of a record are not text: %q", own, line)
	}
}

func TestWhatIsNotARecordIsPassedOver(t *testing.T) {
	for _, line := range []string{
		"", "\n", "1795334349853123456\n", "1795334349853123456 o 5 hell\n", "1795334349853123456 o 5 hello!\n", "1795334349853123456 x 5 hello\n",
		"179533434985312345x o 5 hello\n", "1795334349853123456 o -5 hello\n", "1795334349853123456 o  hello\n", "1795334349853123456 o 5hello\n",
		"9999999999999999999 o 5 hello\n", "1795334349853123456 o 5 hello", `{"time":"2026-01-02T03:04:05Z","stream":"stdout","log":"to`,
	} {
		if IsWhole([]byte(line)) {
			t.Errorf("%q is taken for a record", line)
		}
	}
}

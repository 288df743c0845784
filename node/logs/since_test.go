package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pinion/node/logs/record"
	"pinion/raftfsm/spec"
)

// Wherever the moment lies, no line since then is passed over, and what is read before it is little.
func TestTheFirstLineSinceAMomentIsFoundInALongLog(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var begins []int // of the line of each second
	for second := range 2000 {
		begins = append(begins, len(file))
		for range random.IntN(3) + 1 { // some with one stamp
			text := strings.Repeat("x", random.IntN(500))
			file = record.Append(file, record.Record{Time: noon.Add(time.Duration(second) * time.Second), Text: []byte(text)})
		}
		if second == 1000 {
			file = append(file, "torn by a crash\n"...)
			file = record.Append(file, record.Record{Time: noon.Add(1000 * time.Second), Text: bytes.Repeat([]byte("y"), 3*linearScanMax)})
		}
	}
	for range 500 {
		second := random.IntN(2000)
		offset, err := sinceOffset(bytes.NewReader(file), int64(len(file)), noon.Add(time.Duration(second)*time.Second))
		skipped := begins[second] - int(offset)
		if err != nil || skipped < 0 || skipped > linearScanMax+1000 && second != 1001 || offset > 0 && file[offset-1] != '\n' {
			t.Fatalf("second %d: offset %d, the line begins at %d, %v", second, offset, begins[second], err)
		}
	}
	if offset, err := sinceOffset(bytes.NewReader(nil), 0, noon); offset != 0 || err != nil {
		t.Errorf("an empty file: %d, %v", offset, err)
	}
}

func TestALongLogIsReadSinceAMoment(t *testing.T) {
	s := NewStore(t.TempDir())
	path := s.Path("t", "c")
	for second := range 3000 {
		write(t, path, second, fmt.Sprint(second, strings.Repeat(" ", 100)))
		if second == 1000 {
			rotate(t, path, 1)
		}
	}
	for _, since := range []int{0, 999, 1000, 1001, 2500, 2999, 3000} {
		lines := 0
		err := s.Read(t.Context(), spec.LogQuery{Task: "t", Since: noon.Add(time.Duration(since) * time.Second)}, nil, func(l spec.LogLine) error {
			if want := fmt.Sprint(since + lines); strings.TrimSpace(l.Text) != want {
				t.Fatalf("since %d: line %d is %q", since, lines, l.Text)
			}
			lines++
			return nil
		})
		if err != nil || lines != 3000-since {
			t.Errorf("since %d: %d lines, %v", since, lines, err)
		}
	}
}

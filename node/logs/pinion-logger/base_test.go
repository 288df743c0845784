package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"pinion/node/logs/record"
)

// Each file says how many bytes of the log came before it, whichever logger writes it and however many are gone.
func TestAFileSaysWhatCameBeforeIt(t *testing.T) {
	l := testFile(t, 300, 2)
	written := int64(0)
	check := func() {
		t.Helper()
		raw, err := os.ReadFile(l.path)
		if err != nil {
			t.Fatal(err)
		}
		before, is := record.Base(raw[:bytes.IndexByte(raw, '\n')+1])
		if is != (before > 0) || before+int64(len(raw)) != written {
			t.Errorf("%d bytes before %d, of %d that were written", before, len(raw), written)
		}
	}
	for i := range 60 {
		base := l.base
		l.writeLines("stdout", fmt.Appendf(nil, "line %d\n", i), false)
		if l.base != base {
			written = l.base
		}
		written = max(written, l.base+l.size)
		check()
		if i%7 == 0 { // another logger goes on
			l.close()
			l = newFile(l.path, 300, 2, 0, l.now)
			t.Cleanup(l.close)
			check()
		}
	}
	if written < 60*30 {
		t.Errorf("%d bytes in all", written)
	}
	l.rotate() // and ends before it writes
	end := l.base
	l.close()
	if err := os.Remove(l.path); err != nil {
		t.Fatal(err)
	}
	if l = newFile(l.path, 300, 2, 0, l.now); l.base != end {
		t.Errorf("a logger begins at %d, the one before ended at %d", l.base, end)
	}
	t.Cleanup(l.close)
}

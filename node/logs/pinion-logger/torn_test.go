package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/spec"
)

// sector is the unit that a disk writes whole.
const sector = 512

// A power cut ends a log after any sector, or leaves zeros where one was to be. The lines that are whole are read, no other, and the next
// logger goes on behind them.
func TestALogTornAtAnySectorKeepsItsWholeLines(t *testing.T) {
	store := logs.NewStore(filepath.Join(t.TempDir(), "logs"))
	path := store.Path("t", "c")
	l := newFile(path, 1<<20, 2, 0, time.Now)
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("%d %s", i, strings.Repeat("x", 7*i)))
		l.writeLines("stdout", []byte(texts[i]+"\n"), false)
	}
	l.close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{} // each line of the file without its end, and its text
	for line := range strings.Lines(string(whole)) {
		written[strings.TrimSuffix(line, "\n")] = texts[len(written)]
	}
	for at := 0; at < len(whole); at += sector {
		zeroed := bytes.Clone(whole)
		clear(zeroed[at:min(at+sector, len(whole))])
		checkTorn(t, store, written, fmt.Sprint("zeros at ", at), zeroed)
		checkTorn(t, store, written, fmt.Sprint("cut at ", at), whole[:at])
	}
	for at := len(whole) - sector; at <= len(whole); at++ {
		checkTorn(t, store, written, fmt.Sprint("cut at ", at), whole[:at])
	}
}

// checkTorn puts the content in the place of the log, goes on with it, and reads it.
func checkTorn(t *testing.T, store *logs.Store, written map[string]string, what string, content []byte) {
	t.Helper()
	path := store.Path("t", "c")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(content)) {
		if text, whole := written[strings.TrimSuffix(line, "\n")]; whole { // the next logger ends the last line
			want = append(want, text)
		}
	}
	l := newFile(path, 1<<20, 2, 0, time.Now)
	l.writeLines("stdout", []byte("after\n"), false)
	l.close()
	var got []string
	err := store.Read(t.Context(), spec.LogQuery{Task: "t"}, nil, func(line spec.LogLine) error { got = append(got, line.Text); return nil })
	if err != nil || !slices.Equal(got, append(want, "after")) {
		t.Errorf("%s: %v\ngot  %.2000q\nwant %.2000q", what, err, got, append(want, "after"))
	}
}

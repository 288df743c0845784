package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/spec"
)

// Tails are read while the logger writes and renames its files under them: each is whole, without a hole or a line twice.
func TestATailIsWholeWhileTheLogRotates(t *testing.T) {
	store := logs.NewStore(filepath.Join(t.TempDir(), "logs"))
	l := newFile(store.Path("t", "c"), 3000, 60, 0, time.Now)
	stop, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		defer l.close()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				l.writeLines("stdout", fmt.Appendf(nil, "%d\n", i), false)
			}
		}
	}()
	for range 200 {
		last, lines := -1, 0
		err := store.Read(t.Context(), spec.LogQuery{Task: "t", Tail: 200}, nil, func(line spec.LogLine) error {
			n, err := strconv.Atoi(line.Text)
			if last >= 0 && n != last+1 {
				t.Errorf("%d after %d", n, last)
			}
			last, lines = n, lines+1
			return err
		})
		if err != nil || last >= 200 && lines < 200 {
			t.Errorf("%d lines up to %d, %v", lines, last, err)
		}
	}
	close(stop)
	<-written
}

package store

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestAStableValueWaitsForRoomOnTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		full.Store(true)
		var stored []byte
		s := newStore(&fake{set: func(_, value []byte) error {
			if full.Load() {
				return fmt.Errorf("file resize error: %s", unix.ENOSPC) // bolt keeps only the text
			}
			stored = value
			return nil
		}}, Options{Log: slog.New(slog.DiscardHandler), CallTimeout: time.Second, RetryInterval: time.Second / 4})
		if err := s.SetUint64([]byte("CurrentTerm"), 3); err == nil {
			t.Error("while starting, a full disk is an error")
		}
		s.OnFatal(func(err error) { t.Errorf("reported %v", err) })
		done := make(chan error, 1)
		go func() { done <- s.SetUint64([]byte("CurrentTerm"), 3) }()
		time.Sleep(time.Hour)
		if len(done) > 0 {
			t.Error("answered although the value is not stored")
		}
		full.Store(false)
		if err := <-done; err != nil || len(stored) == 0 {
			t.Errorf("stored %v, error %v", stored, err)
		}
	})
}

func TestStopEndsACallThatWaitsForRoom(t *testing.T) {
	s := newStore(&fake{set: func(_, _ []byte) error { return unix.ENOSPC }}, Options{Log: slog.New(slog.DiscardHandler), CallTimeout: time.Minute, RetryInterval: time.Hour})
	s.OnFatal(func(err error) { t.Errorf("reported %v", err) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Set([]byte("CurrentTerm"), []byte("x"))
		t.Error("Raft got an answer")
	}()
	s.Stop()
	<-ended
}

func TestTheReserveIsRealDiskSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	o := options(path)
	o.Reserve = 3 << 20
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil || stat.Blocks*512 < o.Reserve {
		t.Errorf("%d bytes are allocated, want %d (%v)", stat.Blocks*512, o.Reserve, err)
	}
}

package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A bit of every byte in use is flipped in turn, and every bit of the heads of pages: either the damage is refused, or it lies where nothing is stored
// and Raft reads exactly what was written.
func TestAFlippedBitIsRefusedOrHarmless(t *testing.T) {
	path := written(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := content(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(at int, b byte) {
		if _, err := file.WriteAt([]byte{b}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	for at := range whole {
		used := slices.ContainsFunc(whole[max(0, at-8):min(len(whole), at+8)], func(b byte) bool { return b != 0 })
		for bit := range 8 {
			if !used && at%64 != bit || bit != at%8 && at%4096 >= 256 {
				continue
			}
			write(at, whole[at]^1<<bit)
			var damage *Damage
			err := verify(path)
			if errors.As(err, &damage) {
				refused++
			} else if got, contentErr := content(path); err != nil || contentErr != nil || got != want {
				t.Errorf("page %d offset %d bit %d: the damage is served as truth: %v %v\n%s", at/4096, at%4096, bit, err, contentErr, got)
			}
		}
		write(at, whole[at])
	}
	t.Logf("%d flips were refused", refused)
	if refused < 5000 {
		t.Errorf("only %d flips were refused", refused)
	}
}

func TestDamageIsReturnedWhileStartingAndEndsTheCallerLater(t *testing.T) {
	s := newStore(&fake{getLog: func(index uint64, l *raft.Log) error {
		*l = *addChecksum(&raft.Log{Index: index, Data: []byte("x")})
		l.Data = []byte("y")
		return nil
	}}, Options{Path: "raft.db", CallTimeout: time.Minute})

	var damage *Damage
	if err := s.GetLog(7, new(raft.Log)); !errors.As(err, &damage) || damage.Index != 7 || !strings.Contains(err.Error(), "raft.db: log record 7") {
		t.Errorf("got %v", err)
	}

	reported := make(chan error, 1)
	s.OnFatal(func(err error) { reported <- err })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.GetLog(7, new(raft.Log))
		t.Error("Raft got an answer")
	}()
	<-ended
	if err := <-reported; !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
}

func TestALongLogWithBigRecordsIsVerified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	s, err := Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	var logs []*raft.Log
	for index := uint64(1); index <= 1000; index++ {
		logs = append(logs, &raft.Log{Index: index, Data: make([]byte, 10*index)})
	}
	if err := s.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(1, 500); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := verify(path); err != nil {
		t.Error(err)
	}
}

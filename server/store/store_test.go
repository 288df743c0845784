package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(path string) Options {
	return Options{Path: path, Log: slog.New(slog.DiscardHandler), Reserve: 1}
}

// written is a closed store with a few records and values in it.
func written(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raft.db")
	s, err := Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	for index := uint64(1); index <= 12; index += 3 {
		var logs []*raft.Log
		for i := range uint64(3) {
			logs = append(logs, &raft.Log{Index: index + i, Term: 2, Data: bytes.Repeat([]byte{byte(index)}, 40), AppendedAt: time.Unix(1, 2)})
		}
		if err := s.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]uint64{"CurrentTerm": 2, "LastVoteTerm": 2} {
		if err := s.SetUint64([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set([]byte("LastVoteCand"), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// content is everything that Raft reads from the store, as one text.
func content(path string) (text string, err error) {
	err = readOnly(path, func(o *bbolt.Options) error {
		inner, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: o})
		if err != nil {
			return err
		}
		defer inner.Close()
		s := newStore(inner, Options{Path: path, Patience: time.Minute})
		first, _ := s.FirstIndex()
		last, _ := s.LastIndex()
		var b strings.Builder
		for index := first; index <= last; index++ {
			var l raft.Log
			if err := s.GetLog(index, &l); err != nil {
				return err
			}
			fmt.Fprintln(&b, l.Index, l.Term, l.Type, l.Data, l.AppendedAt.UnixNano(), len(l.Extensions))
		}
		for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
			value, err := s.Get([]byte(key))
			fmt.Fprintln(&b, key, value, err)
		}
		text = b.String()
		return nil
	})
	return text, err
}

func TestWhatWasWrittenIsReadBack(t *testing.T) {
	text, err := content(written(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 2 LogCommand [10 10", "CurrentTerm [0 0 0 0 0 0 0 2] <nil>", "LastVoteCand [111 110 101] <nil>"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

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
		*l = *sealLog(&raft.Log{Index: index, Data: []byte("x")})
		l.Data = []byte("y")
		return nil
	}}, Options{Path: "raft.db", Patience: time.Minute})

	var damage *Damage
	if err := s.GetLog(7, new(raft.Log)); !errors.As(err, &damage) || damage.Index != 7 || !strings.Contains(err.Error(), "raft.db: log record 7") {
		t.Errorf("got %v", err)
	}

	reported := make(chan error, 1)
	s.Guard(func(err error) { reported <- err })
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

func TestACallThatHangsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newStore(&fake{storeLogs: func([]*raft.Log) error {
			<-release
			return nil
		}}, Options{Path: "raft.db", Patience: 5 * time.Second})
		reported := make(chan error, 1)
		s.Guard(func(err error) { reported <- err })
		go s.StoreLog(&raft.Log{Index: 1})

		time.Sleep(5*time.Second - 1)
		if len(reported) > 0 {
			t.Errorf("reported too early: %v", <-reported)
		}
		if err := <-reported; !strings.Contains(err.Error(), "hangs") {
			t.Errorf("reported %v", err)
		}
		close(release)
	})
}

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
		}}, Options{Log: slog.New(slog.DiscardHandler), Patience: time.Second, Retry: time.Second / 4})
		if err := s.SetUint64([]byte("CurrentTerm"), 3); err == nil {
			t.Error("while starting, a full disk is an error")
		}
		s.Guard(func(err error) { t.Errorf("reported %v", err) })
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
	s := newStore(&fake{set: func(_, _ []byte) error { return unix.ENOSPC }}, Options{Log: slog.New(slog.DiscardHandler), Patience: time.Minute, Retry: time.Hour})
	s.Guard(func(err error) { t.Errorf("reported %v", err) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Set([]byte("CurrentTerm"), []byte("x"))
		t.Error("Raft got an answer")
	}()
	s.Stop()
	<-ended
}

func TestAValueThatIsThereCostsNoWrite(t *testing.T) {
	key := []byte("CurrentTerm")
	s := newStore(&fake{
		get: func([]byte) ([]byte, error) { return sealValue(key, []byte("x")), nil },
		set: func(_, _ []byte) error { t.Error("written"); return nil },
	}, Options{Patience: time.Minute})
	if err := s.Set(key, []byte("x")); err != nil {
		t.Error(err)
	}
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

func TestAFileIsReplacedWholeAndForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != text || info.Mode() != 0o600 {
			t.Errorf("%q with mode %v (%v, %v)", got, info.Mode(), err, statErr)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// fake is a backend with one function per call that a test cares for.
type fake struct {
	backend
	getLog    func(uint64, *raft.Log) error
	storeLogs func([]*raft.Log) error
	get       func([]byte) ([]byte, error)
	set       func(key, value []byte) error
}

func (f *fake) GetLog(index uint64, l *raft.Log) error { return f.getLog(index, l) }
func (f *fake) StoreLogs(logs []*raft.Log) error       { return f.storeLogs(logs) }
func (f *fake) Set(key, value []byte) error            { return f.set(key, value) }
func (f *fake) Get(key []byte) ([]byte, error) {
	if f.get == nil {
		return nil, errNotFound
	}
	return f.get(key)
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

package store

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"pinion/packaging/atomicfile"
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
		s := newStore(inner, Options{Path: path, CallTimeout: time.Minute})
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

func TestACallThatHangsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newStore(&fake{storeLogs: func([]*raft.Log) error {
			<-release
			return nil
		}}, Options{Path: "raft.db", CallTimeout: 5 * time.Second})
		reported := make(chan error, 1)
		s.OnFatal(func(err error) { reported <- err })
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

func TestAValueThatIsThereCostsNoWrite(t *testing.T) {
	key := []byte("CurrentTerm")
	s := newStore(&fake{
		get: func([]byte) ([]byte, error) { return addValueChecksum(key, []byte("x")), nil },
		set: func(_, _ []byte) error { t.Error("written"); return nil },
	}, Options{CallTimeout: time.Minute})
	if err := s.Set(key, []byte("x")); err != nil {
		t.Error(err)
	}
}

func TestAFileIsReplacedWholeAndForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "two"} {
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
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
		return nil, ErrNotFound
	}
	return f.get(key)
}

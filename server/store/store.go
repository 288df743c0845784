// Package store keeps a server's Raft log and its few stable values in one bolt file and returns only verified data: every
// record has a checksum, every call has a watchdog, and a write of a stable value waits while the disk is full instead of
// ending the process.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"pinion/packaging/atomicfile"
)

// ErrLocked is answered by Open when another process has the file open.
var ErrLocked = errors.New("locked by another process")

// Options of Open. Path and Log are required; the zero value of everything else means the default in brackets.
type Options struct {
	Path          string
	Log           *slog.Logger
	Reserve       int64         // bytes of disk kept allocated for the log, written or not [32 MiB]
	CallTimeout   time.Duration // how long one call may take before the disk counts as hung [5 s]
	RetryInterval time.Duration // pause between attempts to write a stable value to a full disk [250 ms]
}

// backend stores the records: raft-boltdb, or a fake in tests.
type backend interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

// Store is a raft.LogStore and a raft.StableStore.
//
// Raft panics on an error of some of these calls. So after OnFatal the store never returns damage or a full disk for a stable
// value: it reports damage to OnFatal's function and ends the calling goroutine, and it waits for space. Before OnFatal,
// while the server starts, it returns errors.
type Store struct {
	inner backend
	opts  Options

	records, bytes atomic.Int64 // see Written

	// Writes is how long writes of records to the disk take.
	Writes prometheus.Histogram

	mu      sync.Mutex
	onFatal func(error) // nil until OnFatal

	stop    sync.Once
	stopped chan struct{}
}

// Open verifies every record of the file and opens it; a missing file is created. The caller holds the lock of the directory.
// It returns ErrLocked when another process has the file open, *Damage when a record is not what was written.
func Open(o Options) (*Store, error) {
	if o.Reserve == 0 {
		o.Reserve = 32 << 20
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 5 * time.Second
	}
	if o.RetryInterval == 0 {
		o.RetryInterval = 250 * time.Millisecond
	}
	if err := verify(o.Path); err != nil {
		return nil, err
	}
	if err := create(o.Path); err != nil {
		return nil, err
	}
	inner, err := openBolt(o.Path)
	if err != nil {
		return nil, err
	}
	s := newStore(inner, o)
	if err := s.Preallocate(); err != nil {
		o.Log.Warn("cannot set disk space aside for the log; a full disk may cost the leadership for a while", "file", o.Path, "error", err)
	}
	return s, nil
}

func newStore(inner backend, o Options) *Store {
	return &Store{inner: inner, opts: o, stopped: make(chan struct{}), Writes: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pinion_raft_store_seconds", Help: "Time that a write of entries to the log on disk takes.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})}
}

// create creates a missing file atomically.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh := path + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	bolt, err := openBolt(fresh)
	if err != nil {
		return err
	}
	if err := bolt.Close(); err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	return atomicfile.Rename(fresh, path)
}

// lockTimeout bounds the wait for an earlier process to release the file.
const lockTimeout = time.Second

// openBolt opens the file for writing. The free list is derived at open instead of stored: a commit writes less, and
// there is no list that could be damaged.
func openBolt(path string) (inner backend, err error) {
	var file *os.File
	defer func() {
		if r := recover(); r != nil {
			err = &Damage{Path: path, What: fmt.Sprint(r)}
			file.Close()
		}
	}()
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		Timeout:        lockTimeout,
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	}})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log %s: %w", path, err)
	}
	return bolt, nil
}

// OnFatal sets the handler for an untrustworthy store: fail is called with the reason, at least once and from any goroutine.
// From then on damage ends the goroutine that found it instead of being returned.
func (s *Store) OnFatal(fail func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onFatal = fail
}

func (s *Store) fatalHandler() func(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.onFatal
}

// fatal handles an error that must not reach Raft: it returns the error before OnFatal; afterwards it reports the error and
// ends the goroutine.
func (s *Store) fatal(err error) error {
	fail := s.fatalHandler()
	if fail == nil {
		return err
	}
	fail(err)
	runtime.Goexit() // Raft would panic; its goroutine ends with its deferred calls instead
	return nil
}

// Stop releases calls that wait for disk space: their goroutines end. Call it before Raft's shutdown.
func (s *Store) Stop() { s.stop.Do(func() { close(s.stopped) }) }

// Close ends the store; nothing may use it any more.
func (s *Store) Close() error {
	s.Stop()
	return s.inner.Close()
}

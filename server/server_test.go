package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
	"pinion/server/store"
)

func TestFirstStartMakesAPoolThatARestartKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	s := start(t, config(dir))
	pool := *view(t, s).Pool()
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "training"}})
	stop(t, s)

	again := start(t, config(dir))
	if got := view(t, again).Pool(); got == nil || got.ID != pool.ID || !got.CreatedAt.Equal(pool.CreatedAt) {
		t.Errorf("after a restart the pool is %+v, was %+v", got, pool)
	}
	if view(t, again).Cluster("training") == nil {
		t.Error("a restart lost an acknowledged change")
	}
	if view(t, again).Cluster(spec.DefaultCluster) == nil {
		t.Error("the default cluster is missing")
	}
}

func TestARestartGoesOnFromASnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	s := start(t, config(dir))
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "before"}})
	if err := s.node.Raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "after"}})
	stop(t, s)

	again := start(t, config(dir))
	for _, name := range []string{"before", "after"} {
		if view(t, again).Cluster(name) == nil {
			t.Errorf("cluster %s is gone", name)
		}
	}
}

func TestACrashWhileThePoolIsMadeIsCompletedByTheNextStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := store.Open(store.Options{Path: filepath.Join(dir, "raft.db"), Log: quiet(), Reserve: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.SetUint64([]byte("CurrentTerm"), 1); err != nil { // Raft writes it before the configuration
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "server.json"), []byte(`{"format":1,"pool":"p","host":"`+hostID+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if id := view(t, start(t, config(dir))).Pool().ID; id != "p" {
		t.Errorf("pool is %q, want p", id)
	}
}

func TestOpenRefusesADirectoryThatIsNotItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	cfg := config(dir)
	cfg.PoolID = "aaaa"
	s := start(t, cfg)

	_, err := Open(t.Context(), cfg)
	if !errors.Is(err, consensus.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory in use: %v", err)
	}
	stop(t, s)

	other := cfg
	other.PoolID = "bbbb"
	if _, err := Open(t.Context(), other); !errors.Is(err, consensus.ErrOtherPool) {
		t.Errorf("another pool's directory: %v", err)
	}
	other = cfg
	other.HostID = "ffff"
	if _, err := Open(t.Context(), other); !errors.Is(err, consensus.ErrOtherHost) {
		t.Errorf("another host's directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.json"), []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); !errors.Is(err, consensus.ErrNewer) {
		t.Errorf("a newer directory: %v", err)
	}
}

func TestOpenRefusesADamagedSnapshot(t *testing.T) {
	for _, name := range []string{"meta.json", "state.bin"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "raft")
			s := start(t, config(dir))
			if err := s.node.Raft().Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
			stop(t, s)
			files, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", name))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			flipByte(t, files[0], `"Index":`)
			var damage *store.Damage
			if _, err := Open(t.Context(), config(dir)); !errors.As(err, &damage) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// flipByte changes a bit behind each occurrence of the text, or in the middle of the file when there is none. A file of bbolt has older
// copies of a page too, which nobody reads.
func flipByte(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := regexp.MustCompile(regexp.QuoteMeta(text)+`.`).ReplaceAllFunc(content, func(found []byte) []byte {
		return append(found[:len(text):len(text)], found[len(text)]^1)
	})
	if bytes.Equal(damaged, content) {
		damaged[len(damaged)/2] ^= 1
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesADamagedLogRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	s := start(t, config(dir))
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "training"}})
	stop(t, s)
	path := filepath.Join(dir, "raft.db")
	flipByte(t, path, `"name":"t`)

	var damage *store.Damage
	_, err := Open(t.Context(), config(dir))
	if !errors.As(err, &damage) || damage.Index == 0 || damage.Path != path {
		t.Fatalf("got %v", err)
	}
	t.Log(err)
}

func TestAnEndedContextSaysWhetherTheChangeMayStand(t *testing.T) {
	s := start(t, config(t.TempDir()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Propose(ctx, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "c"}})
	if err != nil && (!errors.Is(err, spec.ErrOutcomeUnknown) || !errors.Is(err, spec.ErrUnavailable) || !errors.Is(err, context.Canceled)) {
		t.Errorf("got %v", err)
	}
}

func TestAfterCloseEveryCallIsRefused(t *testing.T) {
	s := start(t, config(t.TempDir()))
	stop(t, s)
	_, viewErr := s.View(t.Context())
	_, applyErr := s.Propose(t.Context(), raftfsm.Reap{})
	_, runErr := s.scheduler.Run(t.Context(), spec.RunRequest{})
	_, joinErr := s.agents.Join(t.Context(), spec.Host{}, nil)
	for _, err := range []error{viewErr, applyErr, runErr, joinErr} {
		if !errors.Is(err, spec.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheKeyOfAHostIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	s := start(t, config(dir))
	key, err := s.accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(key.ID) != 20 || !strings.HasPrefix(key.ID, "AKIA") || len(key.Secret) != 40 || key.Role != "admin" {
		t.Errorf("key %s has a secret of %d characters and role %s", key.ID, len(key.Secret), key.Role)
	}
	stop(t, s)
	again, err := start(t, config(dir)).accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil || again.ID != key.ID || again.Secret != key.Secret {
		t.Errorf("a restart answers key %s, %v; want %s", again.ID, err, key.ID)
	}
}

package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
	"pinion/server/store"
)

// privateSnapshots are Raft's snapshots in files that root alone can read: Raft leaves their mode to the umask, and a copy of
// one loses the protection of the directory above it.
type privateSnapshots struct {
	raft.SnapshotStore
	dir string
}

func openSnapshots(dir string, log hclog.Logger) (raft.SnapshotStore, error) {
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, retainSnapshots, log)
	return privateSnapshots{files, filepath.Join(dir, "snapshots")}, err
}

// Create begins a snapshot; its directory has a name of its own until it is complete.
func (s privateSnapshots) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration, serversIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, servers, serversIndex, transport)
	if err != nil {
		return nil, err
	}
	failpoint.Reached(failpoint.SnapshotBegun)
	dir := filepath.Join(s.dir, sink.ID()+".tmp")
	err = errors.Join(os.Chmod(dir, 0o700), os.Chmod(filepath.Join(dir, "state.bin"), 0o600), os.Chmod(filepath.Join(dir, "meta.json"), 0o600))
	if err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return failpointSink{sink}, nil
}

// failpointSink is a snapshot that tells when it is complete.
type failpointSink struct{ raft.SnapshotSink }

// Close completes the snapshot.
func (s failpointSink) Close() error {
	err := s.SnapshotSink.Close()
	failpoint.Reached(failpoint.SnapshotWritten)
	return err
}

// verifySnapshots checks that every snapshot on disk is intact and that the log continues where the newest ends. Raft itself
// skips an unreadable snapshot and starts from an older one, or from nothing.
func verifySnapshots(dir string, snapshots raft.SnapshotStore, log *store.Store) error {
	known, err := snapshots.List()
	if err != nil {
		return fmt.Errorf("list the snapshots: %w", err)
	}
	if err := verifySnapshotMeta(dir); err != nil {
		return err
	}
	for _, meta := range known {
		_, content, err := snapshots.Open(meta.ID) // compares its checksum
		if err != nil {
			return &store.Damage{Path: filepath.Join(dir, meta.ID), What: err.Error()}
		}
		content.Close()
	}
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	reached := uint64(0)
	if len(known) > 0 {
		reached = known[0].Index
	}
	if first > reached+1 {
		return &store.Damage{Path: dir, What: fmt.Sprintf("the newest snapshot ends at %d but the log begins at %d", reached, first)}
	}
	return nil
}

// verifySnapshotMeta finds snapshots whose description cannot be read or is not that of its directory.
func verifySnapshotMeta(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the snapshots: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		var meta struct {
			ID          string
			Index, Term uint64
		}
		path := filepath.Join(dir, e.Name(), "meta.json")
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &meta)
		}
		if err == nil && (meta.ID != e.Name() || !strings.HasPrefix(meta.ID, fmt.Sprintf("%d-%d-", meta.Term, meta.Index))) {
			err = errors.New("it describes another snapshot")
		}
		if err != nil {
			return &store.Damage{Path: path, What: err.Error()}
		}
	}
	return nil
}

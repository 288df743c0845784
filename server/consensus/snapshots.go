package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"pinion/server/store"
)

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

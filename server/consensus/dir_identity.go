package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pinion/packaging/atomicfile"
	"pinion/server/id"
)

// dirFormat is the version of everything under Config.Dir. It grows when an older pinion could not read the directory.
const dirFormat = 1

// identity is server.json: what the directory belongs to, written before anything else and never changed.
type identity struct {
	Format int    `json:"format"`
	Pool   string `json:"pool"` // 32 hex digits
	Host   string `json:"host"` // 32 hex digits
}

// checkIdentity reads the identity of the directory and checks that it is ours, or writes it when the directory is new.
func checkIdentity(cfg Config) (identity, error) {
	path := filepath.Join(cfg.Dir, "server.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeIdentity(cfg, path)
	}
	if err != nil {
		return identity{}, fmt.Errorf("read what the raft directory belongs to: %w", err)
	}
	var known identity
	if err := json.Unmarshal(text, &known); err != nil {
		return identity{}, fmt.Errorf("%s is not readable (%w): put back a backup of %s", path, err, cfg.Dir)
	}
	switch {
	case known.Format > dirFormat:
		return identity{}, fmt.Errorf("%s: %w (format %d, this one reads %d): run the newer pinion again, or restore a backup made before the upgrade", cfg.Dir, ErrNewer, known.Format, dirFormat)
	case cfg.PoolID != "" && cfg.PoolID != known.Pool:
		return identity{}, fmt.Errorf("%s: %w: it is %s, not %s; give this host a --data-dir of its own", cfg.Dir, ErrOtherPool, known.Pool, cfg.PoolID)
	case known.Host != cfg.HostID:
		return identity{}, fmt.Errorf("%s: %w: it is %s, this one is %s; was the directory copied? Give this host a --data-dir of its own", cfg.Dir, ErrOtherHost, known.Host, cfg.HostID)
	}
	return known, nil
}

// writeIdentity writes the identity of a new directory.
func writeIdentity(cfg Config, path string) (identity, error) {
	if _, err := os.Stat(filepath.Join(cfg.Dir, "raft.db")); err == nil {
		return identity{}, fmt.Errorf("%s is missing but there is a log beside it: put back a backup of %s", path, cfg.Dir)
	}
	known := identity{Format: dirFormat, Pool: cfg.PoolID, Host: cfg.HostID}
	if known.Pool == "" {
		known.Pool = id.New()
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return identity{}, err
	}
	if err := atomicfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return identity{}, fmt.Errorf("claim the raft directory: %w", err)
	}
	return known, nil
}

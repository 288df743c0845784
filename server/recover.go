package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/backup"
	"pinion/server/consensus"
	"pinion/server/history"
	"pinion/server/membership"
	"pinion/server/pki"
	"pinion/server/seal"
)

// Recover makes a host the only server of a new incarnation of its pool, with what its log and snapshots hold of the
// pool's state. It is for a pool that has lost most of its servers for good. Nothing may run on the data directory; the
// host's next OpenMember leads. Hosts that hear of the new incarnation follow, and servers of the old one that come back
// end when they hear of it (see incarnation.go). Of cfg it takes Dir, HostID, Address, Log, the clock, and of Identity how
// files with keys are written.
func Recover(ctx context.Context, cfg MemberConfig) (incarnation int, err error) {
	if _, err := os.Stat(filepath.Join(cfg.Dir, "raft", "raft.db")); err != nil {
		return 0, fmt.Errorf("this host holds no state of its pool, so nothing can be recovered from it: %w", err)
	}
	return bootstrapIncarnation(ctx, cfg, "")
}

// Restore is Recover from a snapshot that SaveSnapshot wrote, on any machine. A log that is there is put aside. cfg has an
// Identity too, opened with OpenJoining: one that is not of any pool gets a certificate of the snapshot's pool.
func Restore(ctx context.Context, cfg MemberConfig, snapshot io.Reader) (incarnation int, err error) {
	state, past, err := backup.Read(snapshot)
	if err != nil {
		return 0, err
	}
	view := state.View()
	if view.Pool() == nil || view.CA() == nil {
		return 0, errors.New("the snapshot is not of a pool: it has no identity, or no authority")
	}
	if view.Removed(cfg.HostID) {
		return 0, spec.Removed(cfg.HostID)
	}
	ca, err := snapshotCA(cfg, view)
	if err != nil {
		return 0, err
	}
	if err := issueOwnCertificate(cfg, ca); err != nil {
		return 0, err
	}
	if err := restoreHistory(filepath.Join(cfg.Dir, historyFile), past); err != nil {
		return 0, err
	}
	dir := filepath.Join(cfg.Dir, "raft")
	if err := os.Rename(dir, backupName(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("put the present log aside: %w", err)
	}
	if err := consensus.SeedSnapshot(consensus.Config{Dir: dir, HostID: cfg.HostID, Address: cfg.Address, Log: cfg.Log}, view); err != nil {
		return 0, fmt.Errorf("write the snapshot under %s: %w", dir, err)
	}
	return bootstrapIncarnation(ctx, cfg, view.Pool().ID)
}

// snapshotCA is the CA that the pool of a snapshot begins again with, and its key: that of the snapshot, which the sealing keys in the
// data directory open, or what this server has itself. That is the CA of the snapshot, or one that replaced it since: founding puts it
// into the state.
func snapshotCA(cfg MemberConfig, snapshot *raftfsm.View) (pki.CA, error) {
	recorded := *snapshot.CA()
	if held, is := cfg.Identity.CA(); is && (bytes.Equal(held.Certificate, recorded.Certificate) || pki.IsNewer(held.Certificate, recorded.Certificate) && isOfPool(cfg, snapshot.Pool().ID)) {
		return held, nil
	}
	path := filepath.Join(cfg.Dir, keyringFile)
	keyring, err := seal.Open(path, cfg.keys())
	if err != nil {
		return pki.CA{}, err
	}
	ca, err := admission.OpenCA(keyring, recorded)
	if errors.Is(err, seal.ErrNoKey) {
		err = fmt.Errorf("%w: put the file seal.key of a server of the snapshot's pool at %s (mode 0600), with unlock.age of that server beside it if it has one, and restore again; nothing was changed", err, path)
	}
	return ca, err
}

// restoreHistory puts the history of a snapshot in the place of the present one. A snapshot without one changes nothing.
func restoreHistory(path string, past *backup.History) error {
	if past == nil {
		return nil
	}
	if past.Missing() == "" {
		return history.Unarchive(path, backupName(path), past.About, past.Blocks)
	}
	for _, err := range past.Blocks { // the end tells whether the snapshot is whole
		if err != nil {
			return err
		}
	}
	return nil
}

// isOfPool reports whether this host is of that pool.
func isOfPool(cfg MemberConfig, pool string) bool {
	cache, err := membership.OpenPoolCache(filepath.Join(cfg.Dir, poolCacheFile))
	return err == nil && cache.PoolInfo().Pool == pool
}

// backupName returns an unused name for a file or directory that is set aside.
func backupName(dir string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.before-restore-%d", dir, n)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// issueOwnCertificate gives this host a certificate of a pool whose authority is in hand.
func issueOwnCertificate(cfg MemberConfig, authority pki.CA) error {
	if !cfg.Identity.Ready() {
		request, err := cfg.Identity.NewRequest()
		if err != nil {
			return err
		}
		cert, err := pki.Sign(authority, request, cfg.HostID, cfg.now()())
		if err != nil {
			return err
		}
		if err := cfg.Identity.Install(cert, authority.Certificate); err != nil {
			return err
		}
	}
	return cfg.Identity.StoreCAKey(authority)
}

// bootstrapIncarnation starts the server of the data directory alone, out of reach of everybody, makes a new incarnation of its pool
// and writes down that this host is of it.
func bootstrapIncarnation(ctx context.Context, cfg MemberConfig, pool string) (incarnation int, err error) {
	own, err := Open(ctx, Config{Config: consensus.Config{
		Dir: filepath.Join(cfg.Dir, "raft"), HostID: cfg.HostID, PoolID: pool, Address: cfg.Address, Log: cfg.Log,
		Now: cfg.Now, MinFree: cfg.Disk.MinFree, Reserve: cfg.Disk.Reserve, Recover: true, Watermark: watermarkOf(filepath.Join(cfg.Dir, "raft")),
	}, Keys: cfg.keys()})
	if err != nil {
		return 0, err
	}
	seen, index := own.publisher.Build(), own.state.View().Index()
	if err := own.Close(); err != nil {
		return 0, err
	}
	if err := history.Adopt(filepath.Join(cfg.Dir, historyFile), seen.Incarnation, index); err != nil {
		cfg.Log.Error("the history of ended tasks is begun anew", "error", err)
	}
	b, err := membership.OpenPoolCache(filepath.Join(cfg.Dir, poolCacheFile))
	if err != nil {
		return 0, err
	}
	believed, _, err := b.Update(seen)
	if err == nil && !believed {
		err = fmt.Errorf("this host has seen incarnation %d of pool %s, what was recovered is %d of %s", b.Incarnation(), b.PoolInfo().Pool, seen.Incarnation, seen.Pool)
	}
	return seen.Incarnation, err
}

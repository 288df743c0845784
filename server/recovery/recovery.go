// Package recovery makes a pool go on that has lost most of its servers, or all: from the data directory of one of them, or from a snapshot. Nothing
// may run on the data directory meanwhile.
package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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

// Host is the host that is to be the only server of its pool. All fields but those with a default in brackets are required.
type Host struct {
	Dir      string // the data directory
	HostID   string
	Address  string           // host:port under which other hosts reach it
	Identity *pki.Identity    // its files with keys are written as those of the host; Restore makes it one of the pool
	Now      func() time.Time // [time.Now]
	MinFree  uint64           // see consensus.Config
	Reserve  int64            // see consensus.Config
	Log      *slog.Logger
}

// RecoverPool makes a host the only server of a new incarnation of its pool, with what its log and snapshots hold of the
// pool's state. It is for a pool that has lost most of its servers for good. When the host starts next, it leads. Hosts that hear of the new
// incarnation follow, and servers of the old one that come back end when they hear of it (see consensus.IncarnationLayer).
func RecoverPool(ctx context.Context, h Host) (incarnation int, err error) {
	if _, err := os.Stat(filepath.Join(h.raftDir(), "raft.db")); err != nil {
		return 0, fmt.Errorf("this host holds no state of its pool, so nothing can be recovered from it: %w", err)
	}
	return h.bootstrapIncarnation(ctx, "")
}

// RestorePool is RecoverPool from a snapshot that backup.Saver wrote, on any machine. A log that is there is put aside. An identity that is not of any
// pool, opened for joining, gets a certificate of the snapshot's pool.
func RestorePool(ctx context.Context, h Host, snapshot io.Reader) (incarnation int, err error) {
	state, past, err := backup.Read(snapshot)
	if err != nil {
		return 0, err
	}
	view := state.View()
	if view.Pool() == nil || view.CA() == nil {
		return 0, errors.New("the snapshot is not of a pool: it has no identity, or no authority")
	}
	if view.Removed(h.HostID) {
		return 0, spec.Removed(h.HostID)
	}
	ca, err := h.snapshotCA(view)
	if err != nil {
		return 0, err
	}
	if err := h.issueCertificate(ca); err != nil {
		return 0, err
	}
	if err := restoreHistory(filepath.Join(h.Dir, history.File), past); err != nil {
		return 0, err
	}
	dir := h.raftDir()
	if err := os.Rename(dir, backupName(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("put the present log aside: %w", err)
	}
	if err := consensus.SeedSnapshot(consensus.Config{Dir: dir, HostID: h.HostID, Address: h.Address, Log: h.Log}, view); err != nil {
		return 0, fmt.Errorf("write the snapshot under %s: %w", dir, err)
	}
	return h.bootstrapIncarnation(ctx, view.Pool().ID)
}

// snapshotCA is the CA that the pool of a snapshot begins again with, and its key: that of the snapshot, which the sealing keys in the
// data directory open, or what this server has itself. That is the CA of the snapshot, or one that replaced it since: admission.Founding
// puts it into the state.
func (h Host) snapshotCA(snapshot *raftfsm.View) (pki.CA, error) {
	recorded := *snapshot.CA()
	if held, is := h.Identity.CA(); is && (bytes.Equal(held.Certificate, recorded.Certificate) || pki.IsNewer(held.Certificate, recorded.Certificate) && h.isOfPool(snapshot.Pool().ID)) {
		return held, nil
	}
	path := filepath.Join(h.Dir, seal.File)
	keyring, err := seal.Open(path, h.Identity.Keys)
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
func (h Host) isOfPool(pool string) bool {
	cache, err := membership.OpenPoolCache(filepath.Join(h.Dir, membership.PoolCacheFile))
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

// issueCertificate gives this host a certificate of a pool whose authority is in hand.
func (h Host) issueCertificate(authority pki.CA) error {
	if !h.Identity.Ready() {
		request, err := h.Identity.NewRequest()
		if err != nil {
			return err
		}
		cert, err := pki.Sign(authority, request, h.HostID, h.now())
		if err != nil {
			return err
		}
		if err := h.Identity.Install(cert, authority.Certificate); err != nil {
			return err
		}
	}
	return h.Identity.StoreCAKey(authority)
}

func (h Host) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

func (h Host) raftDir() string { return consensus.DirIn(h.Dir) }

// bootstrapIncarnation starts Raft of the data directory alone, out of reach of everybody, makes a new incarnation of its pool
// and writes down that this host is of it.
func (h Host) bootstrapIncarnation(ctx context.Context, pool string) (incarnation int, err error) {
	node, err := consensus.Open(ctx, consensus.Config{
		Dir: h.raftDir(), HostID: h.HostID, PoolID: pool, Address: h.Address, Log: h.Log,
		Now: h.Now, MinFree: h.MinFree, Reserve: h.Reserve, Recover: true, Watermark: consensus.WatermarkOf(h.raftDir()),
	}, consensus.Hooks{})
	if err != nil {
		return 0, err
	}
	servers := membership.NewServers(node, nil, nil, h.HostID, h.Log, nil)
	seen := membership.NewPublisher(node.PoolID(), servers, node.Tracker(), notSigned).Build()
	index := node.State().View().Index()
	if err := node.Close(); err != nil {
		return 0, err
	}
	if err := history.Adopt(filepath.Join(h.Dir, history.File), seen.Incarnation, index); err != nil {
		h.Log.Error("the history of ended tasks is begun anew", "error", err)
	}
	cache, err := membership.OpenPoolCache(filepath.Join(h.Dir, membership.PoolCacheFile))
	if err != nil {
		return 0, err
	}
	believed, _, err := cache.Update(seen)
	if err == nil && !believed {
		err = fmt.Errorf("this host has seen incarnation %d of pool %s, what was recovered is %d of %s", cache.Incarnation(), cache.PoolInfo().Pool, seen.Incarnation, seen.Pool)
	}
	return seen.Incarnation, err
}

// notSigned signs nothing: the server signs when it starts, for whoever asks it.
func notSigned([]byte) ([]byte, error) {
	return nil, errors.New("nothing is signed while the pool is recovered")
}

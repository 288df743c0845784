package server

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"pinion/server/pki"
	"pinion/server/recovery"
)

// A snapshot from before a rotation of the CA is restored on a server that has rotated: hosts trust the newer root, so the pool goes on
// with it. A server of another pool, however new its root, restores nothing with it.
func TestASnapshotFromBeforeARotationIsRestored(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	var later atomic.Bool // a root is newer by its own time, which has seconds
	first := p.found(func(cfg *MemberConfig) {
		cfg.Now = func() time.Time {
			if later.Load() {
				return time.Now().Add(2 * time.Second)
			}
			return time.Now()
		}
	})
	agent := p.join(1)[0]
	var file bytes.Buffer
	eventually(t, "the host is known", func() bool { return p.view().Host(agent.cfg.HostID) != nil })
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &file, false); err != nil {
		t.Fatal(err)
	}
	later.Store(true)
	root := p.rotateCA(false)
	p.waitUntilRotated(root)
	first.close()
	if incarnation, err := recovery.RestorePool(t.Context(), offline(first), bytes.NewReader(file.Bytes())); err != nil || incarnation != 2 {
		t.Fatal(incarnation, err)
	}
	if err := first.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the state has the root that hosts trust, and the host is back", func() bool {
		ca := p.view().CA()
		return ca != nil && pki.FingerprintOf(ca.Certificate) == root && first.member.Connected(agent.cfg.HostID)
	})

	other := newPool(t).found(nil)
	other.close()
	copyKeyring(t, first, other)
	if _, err := recovery.RestorePool(t.Context(), offline(other), bytes.NewReader(file.Bytes())); err == nil {
		t.Error("a server of another pool has restored it")
	}
}

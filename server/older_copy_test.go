package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
)

// copyDir copies a directory to a place where nothing is.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// wantOlderCopy checks that a start was refused, and says what to do.
func wantOlderCopy(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, consensus.ErrOlderCopy) || !strings.Contains(err.Error(), "pinion hosts rm --force") || !strings.Contains(err.Error(), "pinion up --join") {
		t.Errorf("an older copy of the log: %v", err)
	}
}

// createClusters records changes of which each is acknowledged.
func (p *pool) createClusters(prefix string, n int) {
	p.t.Helper()
	for i := range n {
		cluster := spec.Cluster{Name: fmt.Sprint(prefix, i), Status: spec.ClusterActive}
		if _, err := p.leader().member.localServer().Propose(p.t.Context(), raftfsm.CreateCluster{Cluster: cluster}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// One of three servers is away, the second gets an older copy of its log back, and the third, which has all that was
// acknowledged, ends: those two could elect a leader that knows nothing of it.
func TestAServerWithAnOlderCopyOfItsLogDoesNotVote(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	backups := t.TempDir()
	raft := func(h *testHost) string { return filepath.Join(h.dir, "raft") }
	backup := func(h *testHost) string { return filepath.Join(backups, h.cfg.HostID) }
	for _, h := range p.hosts {
		h.close()
		copyDir(t, raft(h), backup(h))
		p.start(h)
		p.waitForVoters(3)
	}
	leader, restored, away := p.leader(), p.followers()[0], p.followers()[1]
	away.close()
	p.createClusters("acknowledged-", 5)
	leader.close()
	restored.close()
	copyDir(t, backup(restored), raft(restored))
	wantOlderCopy(t, restored.start())
	p.start(away)
	wantOlderCopy(t, restored.start()) // trying again changes nothing
	p.start(leader)
	for i := range 5 {
		if p.view().Cluster(fmt.Sprint("acknowledged-", i)) == nil {
			t.Errorf("change %d was acknowledged and is gone", i)
		}
	}
	if err := os.RemoveAll(raft(restored)); err != nil {
		t.Fatal(err)
	}
	wantOlderCopy(t, restored.start()) // an empty one forgets as well
}

// start starts a host again.
func (p *pool) start(h *testHost) {
	p.t.Helper()
	if err := h.start(); err != nil {
		p.t.Fatal(err)
	}
}

// A copy that was made while the server ran has the name of the last opening.
func TestACopyOfTheLogThatWasMadeWhileTheServerRanIsKnown(t *testing.T) {
	dir, backup := filepath.Join(t.TempDir(), "raft"), filepath.Join(t.TempDir(), "raft")
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "before"}})
	stop(t, s)
	copyDir(t, dir, backup)
	s, err = Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "after"}})
	stop(t, s)
	opened, err := os.ReadFile(filepath.Join(dir, "opened"))
	if err != nil {
		t.Fatal(err)
	}
	copyDir(t, backup, dir)
	if err := os.WriteFile(filepath.Join(dir, "opened"), opened, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), config(dir))
	wantOlderCopy(t, err)

	alone := config(dir)
	alone.Alone = true
	if v := view(t, start(t, alone)); v.Cluster("before") == nil || v.Cluster("after") != nil {
		t.Error("the only server of a pool did not go on from the copy")
	}
}

// The directory is opened under a new name each time, and a crash may come at any moment of that.
func TestACrashWhileTheLogIsOpenedIsNoOlderCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	mark, name := dir+".watermark", filepath.Join(dir, "opened")
	before, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	halfway := strings.Replace(string(before), "{", `{"opening":"next",`, 1)
	for what, inside := range map[string]string{"before the directory was given its name": string(opened), "after it was": "next\n"} {
		if err := errors.Join(os.WriteFile(mark, []byte(halfway), 0o600), os.WriteFile(name, []byte(inside), 0o600)); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(t.Context(), config(dir)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		stop(t, s)
	}
}

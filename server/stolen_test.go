package server

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/id"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/seal"
)

// steal copies the data directory of a host.
func steal(t *testing.T, from *testHost) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Somebody copies all that an agent has. While the host belongs to the pool that is as good as the host; after `pinion hosts rm --force`
// it opens nothing.
func TestAStolenDataDirectoryOfAnAgentOpensNothingOnceTheHostIsRemoved(t *testing.T) {
	r := newRights(t)
	key, err := r.a.member.Admission.HostKey(t.Context())
	if err != nil || key.Role != accesskey.RoleRead || key.Cluster != spec.DefaultCluster {
		t.Fatalf("an agent's own key: %+v, %v", key, err)
	}
	authority, cert, token := heldCA(t, r.server), certOf(t, r.a), r.joinToken()
	r.a.close()
	stolen := steal(t, r.a)
	if err := r.server.member.Hosts.RemoveHost(t.Context(), r.a.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	r.checkHoldsNoSecret(stolen, authority)
	eventually(t, "another agent knows of the removal", func() bool { return r.b.member.poolCache.IsRemoved(r.a.cfg.HostID) })
	for _, at := range []*testHost{r.server, r.b} {
		r.checkClosed(at, caller{at.where, cert})
	}
	if r.view().AccessKey(key.ID) != nil || credential.OfHost(r.view(), r.a.cfg.HostID) != nil {
		t.Error("the host's access key is still there")
	}
	for _, k := range []string{"", token} { // with a token it loses servers.json, so that comes last
		if err := r.comeBack(stolen, k); !errors.Is(err, spec.ErrRemoved) {
			t.Errorf("with the token %q it starts, and ends with %v", k, err)
		}
	}
	if r.view().Host(r.a.cfg.HostID) != nil {
		t.Error("the removed host is back")
	}
}

// checkHoldsNoSecret checks that nothing of the pool's secrets is in a directory.
func (r *rightsTest) checkHoldsNoSecret(dir string, authority pki.CA) {
	r.t.Helper()
	secrets := clearForms(r.t, authority.Key)
	secrets["a sealing key"] = bytes.TrimSpace(readFile(r.t, filepath.Join(r.server.dir, seal.File)))
	delete(secrets, "PEM") // it has the host's own key
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for name, secret := range secrets {
			if bytes.Contains(text, secret) {
				r.t.Errorf("%s has %s", path, name)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// checkClosed checks that every listener of a host refuses a caller.
func (r *rightsTest) checkClosed(at *testHost, thief caller) {
	r.t.Helper()
	for path, in := range r.secrets() {
		if status, text := thief.post(r.t, peer.Peer, path, in); status != 0 {
			r.t.Errorf("%s of host %d answers %d %s", path, at.n, status, text)
		}
	}
	if word, err := readRaftPreamble(r.t, thief); err == nil {
		r.t.Errorf("Raft of host %d says %x", at.n, word)
	}
}

// comeBack starts the removed host from a copy of its data directory, and joins it again when there is a token. It returns why the
// host ends.
func (r *rightsTest) comeBack(stolen, token string) error {
	back := r.host(func(c *MemberConfig) {
		if c.HostID, c.JoinToken = r.a.cfg.HostID, token; token != "" {
			c.Join = r.server.where
		}
	})
	back.dir, back.cfg.Dir = stolen, stolen
	if token != "" {
		_ = os.Remove(filepath.Join(stolen, "servers.json")) // or it would not ask
	}
	if err := back.start(); err != nil {
		return err
	}
	defer back.close()
	return <-back.member.Fatal()
}

// While a host was away, all servers that it knew were exchanged, and then it was removed. Nobody tells it any more who the servers are.
func TestARemovedHostThatKnowsNoServerAnyMoreLearnsOfItsRemoval(t *testing.T) {
	r := newRights(t)
	known := r.a.member.poolCache.PoolInfo()
	r.a.close()
	stolen := steal(t, r.a)
	if err := r.server.member.Hosts.RemoveHost(t.Context(), r.a.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	known.ServerIDs, known.Keys = []string{id.New()}, nil
	path := filepath.Join(stolen, "servers.json")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cache, err := membership.OpenPoolCache(path)
	if err == nil {
		_, _, err = cache.Update(known)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.comeBack(stolen, ""); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("it ends with %v", err)
	}
}

// Nobody without a token makes the pool write anything, however often they ask.
func TestARefusedJoinIsWrittenNowhereButInTheLogOfTheHost(t *testing.T) {
	r := newRights(t)
	good, err := admission.ParseToken(r.joinToken())
	if err != nil {
		t.Fatal(err)
	}
	csr, err := r.foreign.cfg.Identity.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	anybody, own := caller{r.server.where, nil}, r.server.member.localServer()
	ask := func(tokenID, secret string) (int, []byte) {
		return anybody.post(t, peer.Join, admission.PathJoin, admission.JoinRequest{HostID: id.New(), TokenID: tokenID, Secret: secret, CSR: csr})
	}
	written := func() int {
		return bytes.Count(readFile(t, filepath.Join(r.server.dir, "raft", "raft.db")), []byte("raftfsm-join-probe"))
	}
	for range 5 {
		ask("raftfsm-join-probe", "secret")
		ask(good.ID, "raftfsm-join-probe")
	}
	if n := written(); n != 0 {
		t.Errorf("what was refused is in the log of Raft %d times", n)
	}
	if jointoken.Find(own.state.View(), good.ID).Used != 0 {
		t.Error("a refused join counts")
	}
	if n := bytes.Count([]byte(r.log.String()), []byte("a host that wants to join is refused")); n != 10 {
		t.Errorf("%d refusals are in the log, want 10 with their address", n)
	}
	if !bytes.Contains([]byte(r.log.String()), []byte("from=127.0.0.1")) {
		t.Error("the log does not say where they came from")
	}
	status, text := ask(good.ID, good.Secret)
	if status == http.StatusOK || !bytes.Contains(text, []byte("too many joins from 127.0.0.1")) {
		t.Errorf("the eleventh: %d %s", status, text)
	}
	if n := bytes.Count([]byte(r.log.String()), []byte("a host that wants to join is refused")); n != 10 {
		t.Errorf("what is not heard is logged too: %d", n)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

package server

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/pki"
)

// rotateCA begins a rotation on whichever server leads, and returns the new root.
func (p *pool) rotateCA(force bool) (root string) {
	p.t.Helper()
	eventually(p.t, "the rotation begins", func() bool {
		err := p.leader().member.Keys.RotateCA(p.t.Context(), force)
		if err != nil && !errors.Is(err, spec.ErrUnavailable) && !errors.Is(err, spec.ErrNotLeader) {
			p.t.Fatal(err)
		}
		return err == nil
	})
	return p.root()
}

// root is the fingerprint of the root that signs for the pool.
func (p *pool) root() string { return pki.FingerprintOf(p.view().CA().Certificate) }

// waitUntilRotated waits until every host that runs has a certificate of the root and trusts no other.
func (p *pool) waitUntilRotated(root string) {
	p.t.Helper()
	eventually(p.t, "every host is on the new root, and takes no other", func() bool {
		if p.view().CA().Overlap.Trusted {
			return false
		}
		for _, h := range p.hosts {
			if h.member == nil {
				continue
			}
			id := h.cfg.Identity
			if id.Roots().Issuer() != root || id.Fingerprint() != root || id.Roots().List().Overlap.Trusted || h.member.localServer() != nil && !holdsKeyOf(id, root) {
				return false
			}
		}
		return true
	})
}

// holdsKeyOf reports whether a server signs with a root.
func holdsKeyOf(id *pki.Identity, root string) bool {
	ca, held := id.CA()
	return held && pki.FingerprintOf(ca.Certificate) == root
}

// The pool goes on while its CA is rotated, whichever server leads and ends meanwhile; a server that is off is waited for.
func TestThePoolsCAIsRotatedInStepsThatAnyLeaderTakes(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.found(nil)
	joined := p.join(3)
	p.waitForVoters(3)
	before := p.root()
	for _, h := range joined {
		eventually(t, "the host is known", func() bool { return p.view().Host(h.cfg.HostID) != nil })
	}
	agent := joined[0]
	for _, h := range joined {
		if h.member.localServer() == nil {
			agent = h
		}
	}
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return agent.agent.runs(task.ID) })
	key, _ := agent.cfg.Identity.Admission()

	root := p.rotateCA(false)
	ended := p.leader()
	ended.close() // in whatever step it is
	if root == before || p.root() != root {
		t.Fatalf("the root is %.16s, it was %.16s, %.16s was made", p.root(), before, root)
	}
	later := p.run(agent)
	eventually(t, "a task runs in the middle of it", func() bool { return agent.agent.runs(later.ID) })
	if err := ended.start(); err != nil {
		t.Fatal(err)
	}
	p.waitUntilRotated(root)
	eventually(t, "three servers vote again", func() bool { return p.voters() == 3 })
	if again, _ := agent.cfg.Identity.Admission(); again != key || !agent.agent.runs(task.ID) {
		t.Errorf("the agent has the key %s, it had %s; the first task runs: %t", again, key, agent.agent.runs(task.ID))
	}
	last := p.run(agent)
	eventually(t, "a task runs after it", func() bool { return agent.agent.runs(last.ID) })
	p.join(1)
	if second := p.rotateCA(false); second == root {
		t.Error("the second rotation made no root")
	} else {
		p.waitUntilRotated(second)
	}
}

// A rotation waits for a host that is off, and the host renews its certificate when it is back.
func TestARotationWaitsForAHostThatIsOff(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.found(nil)
	agent := p.join(1)[0]
	p.waitForVoters(1)
	eventually(t, "the host is known", func() bool { return p.view().Host(agent.cfg.HostID) != nil })
	agent.close()
	root := p.rotateCA(false)
	own := p.leader()
	eventually(t, "the leader itself is on the new root", func() bool {
		left := p.view().HostsNotOn(root)
		return own.cfg.Identity.Roots().Issuer() == root && len(left) == 1 && left[0].ID == agent.cfg.HostID
	})
	if err := own.member.Keys.RotateCA(t.Context(), false); err != nil || p.root() != root {
		t.Errorf("another rotation in the middle of one: %v", err)
	}
	if !p.view().CA().Overlap.Trusted {
		t.Fatal("the host that is off was not waited for")
	}
	if err := agent.start(); err != nil {
		t.Fatal(err)
	}
	p.waitUntilRotated(root)
}

// A forced rotation does not wait. A host that was off is refused afterwards, is told what to do, and comes back as the same host.
func TestAHostThatMissedARotationComesBackWithAToken(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.found(nil)
	joined := p.join(3)
	p.waitForVoters(3)
	var agent *testHost
	for _, h := range joined {
		eventually(t, "the host is known", func() bool { return p.view().Host(h.cfg.HostID) != nil })
		if h.member.localServer() == nil {
			agent = h
		}
	}
	server := p.followers()[0]
	stale := p.joinToken()
	for _, off := range []*testHost{agent, server} {
		off.close()
		off.cfg.Join, off.cfg.JoinToken = p.leader().where, stale
	}
	eventually(t, "the leader has not heard of them for a while", func() bool {
		return !p.leader().member.Connected(agent.cfg.HostID) && !p.leader().member.Connected(server.cfg.HostID)
	})
	root := p.rotateCA(true)
	p.waitUntilRotated(root)
	log := new(lockedBuffer)
	for _, off := range []*testHost{agent, server} {
		off.cfg.Log = testLogTo(log)
		if err := off.start(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the host says that it has to join again", func() bool { return strings.Contains(log.String(), pki.ErrOtherCA.Error()) })
	token := p.joinToken()
	for _, off := range []*testHost{agent, server} {
		off.close()
		off.cfg.JoinToken = token
		if err := off.start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is back as the host that it was", func() bool { return p.leader().member.Connected(off.cfg.HostID) })
	}
	p.waitForVoters(3)
	p.waitUntilRotated(root)
}

// clientRefuses reports whether a client that knows the pool by a file refuses a certificate.
func clientRefuses(t *testing.T, cafile []byte, shown [][]byte) bool {
	t.Helper()
	roots, between, certs := x509.NewCertPool(), x509.NewCertPool(), certificates(t, shown)
	roots.AppendCertsFromPEM(cafile)
	for _, cert := range certs[1:] {
		between.AddCert(cert)
	}
	_, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err != nil
}

func certificates(t *testing.T, raw [][]byte) (all []*x509.Certificate) {
	t.Helper()
	for _, der := range raw {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cert)
	}
	return all
}

// certDER is the certificate of a CA.
func certDER(t *testing.T, ca pki.CA) []byte {
	t.Helper()
	block, _ := pem.Decode(ca.Certificate)
	return block.Bytes
}

// checkNoOldKey checks that no server keeps the key of a root that was replaced.
func (p *pool) checkNoOldKey(old pki.CA) {
	p.t.Helper()
	block, _ := pem.Decode(old.Key)
	for _, h := range p.hosts {
		if h.member == nil {
			continue
		}
		err := filepath.WalkDir(filepath.Join(h.dir, "pki"), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for found, rest := pem.Decode(text); found != nil; found, rest = pem.Decode(rest) {
				if string(found.Bytes) == string(block.Bytes) {
					p.t.Errorf("%s has the key of the root that was replaced", path)
				}
			}
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// testLogTo is a log that a test reads.
func testLogTo(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

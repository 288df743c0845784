package server

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/id"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
)

// stolenServer is a pool whose server lost its disk: the server was removed, and sealing keys, CA and access keys were replaced.
type stolenServer struct {
	*pool
	t     *testing.T
	agent *testHost
	lost  *testHost
	disk  string // the copy
	old   pki.CA // as the copy has it
	file  []byte // what clients knew the pool by before
}

func stealServer(t *testing.T) *stolenServer {
	t.Helper()
	s := &stolenServer{pool: newPool(t), t: t}
	s.found(nil)
	for _, h := range s.join(3) {
		eventually(t, "the host is known", func() bool { return s.view().Host(h.cfg.HostID) != nil })
	}
	s.waitForVoters(3)
	for _, h := range s.hosts {
		if h.member.localServer() == nil {
			s.agent = h
		}
	}
	s.createKeys(2)
	s.lost = s.followers()[0]
	eventually(t, "the server has the keys", func() bool {
		known, ca := opened(s.lost.member.localServer().state.View(), ringOf(t, s.lost.dir, nil))
		_, held := s.lost.cfg.Identity.CA()
		return ca && held && len(known) >= 2
	})
	s.old, s.file = heldCA(t, s.lost), readFile(t, s.lost.cfg.Identity.CAFile())
	s.lost.close()
	s.disk = steal(t, s.lost)
	return s
}

// mend does what docs/security.md says of a stolen server.
func (s *stolenServer) mend() (root string) {
	s.t.Helper()
	eventually(s.t, "the server is removed", func() bool {
		return s.leader().member.Hosts.RemoveHost(s.t.Context(), s.lost.cfg.HostID, true) == nil
	})
	s.waitForVoters(3)
	s.rotateSealingKey()
	s.waitUntilSealed()
	root = s.rotateCA(true)
	s.waitUntilRotated(root)
	return root
}

// Somebody copies all that a server has. After `pinion hosts rm --force`, `pinion keys rotate` and `pinion ca rotate --force` nothing in the
// copy opens anything of the pool.
func TestAStolenDataDirectoryOfAServerOpensNothing(t *testing.T) {
	t.Parallel()
	s := stealServer(t)
	if clientRefuses(t, s.file, certOf(t, s.agent).Certificate) {
		t.Fatal("clients do not believe the pool before, so this test shows nothing")
	}
	s.mend()
	s.checkNoOldKey(s.old)
	s.checkSealed()
	s.checkPortsAreClosed()
	s.checkNobodyCallsIt()
	s.checkNothingItSignsIsBelieved()
	s.checkClientsRefuseIt()
	s.checkItDoesNotComeBack()
}

// checkSealed checks that the keys of the copy open nothing that is sealed.
func (s *stolenServer) checkSealed() {
	s.t.Helper()
	if known, ca := opened(s.view(), ringOf(s.t, s.disk, nil)); len(known) != 0 || ca {
		s.t.Errorf("the sealing keys of the copy open %d access keys; the key of the CA: %t", len(known), ca)
	}
}

// checkPortsAreClosed calls every host as the server that was, as every other host, and as one that is made up.
func (s *stolenServer) checkPortsAreClosed() {
	s.t.Helper()
	copied, err := pki.Open(filepath.Join(s.disk, "pki"), s.lost.cfg.HostID, []string{"127.0.0.1"})
	if err != nil {
		s.t.Fatal(err)
	}
	own, err := copied.Certificate()
	if err != nil {
		s.t.Fatal(err)
	}
	thieves := map[string]caller{"the server that was": {"", own}, "a made-up host": {"", signedFor(s.t, id.New(), &s.old, time.Now())}}
	for _, h := range s.hosts {
		thieves["host "+h.cfg.HostID] = caller{"", signedFor(s.t, h.cfg.HostID, &s.old, time.Now())}
	}
	for _, at := range s.hosts {
		if at.member == nil {
			continue
		}
		for name, thief := range thieves {
			thief.at = at.where
			for path := range at.member.api.routes() {
				if status, text := thief.post(s.t, peer.Peer, path, struct{}{}); status != 0 {
					s.t.Errorf("%s: %s of host %d answers %d %s", name, path, at.n, status, text)
				}
			}
			if word, err := readRaftPreamble(s.t, thief); err == nil {
				s.t.Errorf("%s: Raft of host %d says %x", name, at.n, word)
			}
		}
	}
}

// checkNobodyCallsIt checks that no host takes who has the copy for a server, and that none that joins does.
func (s *stolenServer) checkNobodyCallsIt() {
	s.t.Helper()
	token, err := admission.ParseToken(s.joinToken())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, from := range s.hosts {
		if from.member == nil {
			continue
		}
		address := answerWith(s.t, signedFor(s.t, s.leader().cfg.HostID, &s.old, time.Now()))
		dialer := &peer.Dialer{Identity: from.cfg.Identity} // by the certificate alone
		if conn, err := dialer.Dial(s.t.Context(), peer.Peer, address, ""); err == nil {
			conn.Close()
			s.t.Errorf("host %d takes it for the leader", from.n)
		}
	}
	shown := signedFor(s.t, s.leader().cfg.HostID, &s.old, time.Now())
	if _, err := pki.VerifyFingerprint(certificates(s.t, append(shown.Certificate, certDER(s.t, s.old))), token.Fingerprint, time.Now()); !errors.Is(err, pki.ErrOtherPool) {
		s.t.Errorf("a host that joins: %v", err)
	}
}

// checkNothingItSignsIsBelieved checks what hosts believe by the signature of the CA alone: who the servers are, and new roots.
func (s *stolenServer) checkNothingItSignsIsBelieved() {
	s.t.Helper()
	forged, overlap, err := pki.NewCA(s.old, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range s.hosts {
		if h.member == nil {
			continue
		}
		told := h.member.poolCache.PoolInfo()
		told.ServerIDs, told.Incarnation = []string{s.lost.cfg.HostID}, told.Incarnation+1
		for name, ca := range map[string]pki.CA{"old": s.old, "forged": forged} {
			if told.Signature, err = pki.SignText(ca, membership.ServerListText(told)); err != nil {
				s.t.Fatal(err)
			}
			told.CA = spec.CARoots{Newest: forged.Certificate, Overlap: overlap}
			if _, believed := h.member.lifecycle.pool.VerifiedPoolInfo(told); believed {
				s.t.Errorf("host %d believes the servers that the %s key has signed", h.n, name)
			}
		}
		if err := h.cfg.Identity.Roots().Trust(told.CA); !errors.Is(err, pki.ErrOtherCA) {
			s.t.Errorf("host %d takes over a root that the old key has signed: %v", h.n, err)
		}
	}
}

// checkClientsRefuseIt checks that clients with the pool's new file refuse what the copy signs, and that those with the old one are not served
// any more, so that none goes on with it unnoticed.
func (s *stolenServer) checkClientsRefuseIt() {
	s.t.Helper()
	file := readFile(s.t, s.agent.cfg.Identity.CAFile())
	if !clientRefuses(s.t, file, append(signedFor(s.t, s.agent.cfg.HostID, &s.old, time.Now()).Certificate, certDER(s.t, s.old))) {
		s.t.Error("a client with the new file believes who has the copy")
	}
	shown, err := s.agent.cfg.Identity.ServerTLS().GetCertificate(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if clientRefuses(s.t, file, shown.Certificate) || !clientRefuses(s.t, s.file, shown.Certificate) {
		s.t.Error("a client with the new file is not served, or one with the old file is")
	}
}

// checkItDoesNotComeBack starts the copy, alone and with a token.
func (s *stolenServer) checkItDoesNotComeBack() {
	s.t.Helper()
	token, before := s.joinToken(), s.view()
	for _, k := range []string{"", token} {
		back := s.host(func(c *MemberConfig) {
			if c.HostID, c.JoinToken = s.lost.cfg.HostID, k; k != "" {
				c.Join = s.leader().where
			}
		})
		s.hosts = s.hosts[:len(s.hosts)-1]
		back.dir = filepath.Join(s.t.TempDir(), "copy")
		if err := os.CopyFS(back.dir, os.DirFS(s.disk)); err != nil {
			s.t.Fatal(err)
		}
		back.cfg.Dir = back.dir
		if err := back.start(); err != nil {
			continue
		}
		if back.member.localServer() != nil && back.member.localServer().Leads() {
			s.t.Error("the copy leads")
		}
		back.close()
	}
	after := s.view()
	if after.Host(s.lost.cfg.HostID) != nil || after.Admission(s.lost.cfg.HostID) != nil || len(after.Hosts("")) != len(before.Hosts("")) {
		s.t.Error("the removed server is back")
	}
}

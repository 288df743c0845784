package many

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/env"
	"pinion/packaging/testbed"
	"pinion/server/peer"
)

// TestAStolenDataDirectoryOpensNothingOnceRightsAreTakenBack copies all that an agent and a server have on their disks, and types what
// docs/security.md says about each. Before that, what is in the copy opens the pool; afterwards nothing of it does.
func TestAStolenDataDirectoryOpensNothingOnceRightsAreTakenBack(t *testing.T) {
	none := []string{"--gpus", "none"}
	p := up(t, slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none))
	t.Run("agent", p.testStolenAgent)
	t.Run("server", p.testStolenServer)
}

func (p *pool) testStolenAgent(t *testing.T) {
	s := p.steal(t, p.agent(t))
	s.checkOpens("its certificate", s.opensPeers, true)
	s.checkOpens("its access key", s.opensAPIWith(s.own), true)

	s.pinion("hosts", "rm", "--force", s.from.Name)
	s.checkOpens("its certificate", s.opensPeers, false)
	s.checkOpens("its access key", s.opensAPIWith(s.own), false)
	s.checkDoesNotComeBack()
}

func (p *pool) testStolenServer(t *testing.T) {
	s, users := p.steal(t, p.follower(t)), p.key
	s.checkOpens("its certificate", s.opensPeers, true)
	s.checkOpens("its certificate, of Raft,", s.opensRaft, true)
	s.checkOpens("its access key", s.opensAPIWith(s.own), true)
	s.checkOpens("its sealing keys", s.opensSnapshot, true)
	s.checkOpens("a certificate of the CA", s.opensClientsWith(p.caFile(t, s.operator)), true)

	s.pinion("hosts", "rm", "--force", s.from.Name)
	s.checkOpens("its certificate", s.opensPeers, false)
	s.checkOpens("its certificate, of Raft,", s.opensRaft, false)
	s.checkOpens("its access key", s.opensAPIWith(s.own), false)
	s.checkDoesNotComeBack()

	s.pinion("keys", "rotate")
	s.checkOpens("its sealing keys", s.opensSnapshot, false)

	s.pinion("ca", "rotate", "--force")
	s.checkOpens("a certificate of the CA", s.opensClientsWith(p.caFile(t, s.operator)), false)

	s.checkOpens("an access key of the state", s.opensAPIWith(users), true)
	s.replaceAccessKeys()
	s.checkOpens("an access key of the state", s.opensAPIWith(users), false)
	s.checkOpens("the access key in its place", s.opensAPIWith(p.key), true)
}

// stolen is the disk of a host in wrong hands, and the operator, on a host that stays.
type stolen struct {
	*pool
	t        *testing.T
	from     *testbed.Host
	operator *testbed.Host
	dir      string // the copy
	own      accessKey
}

// steal stops a host and copies its data directory.
func (p *pool) steal(t *testing.T, from *testbed.Host) *stolen {
	t.Helper()
	s := &stolen{pool: p, t: t, from: from, operator: p.leader(t), dir: filepath.Join(t.TempDir(), "copy")}
	must(t, from.Terminate(t.Context()))
	_, err := from.Pinion("down") // nothing writes to it any more
	must(t, err)
	must(t, exec.Command("cp", "-a", from.Dir, s.dir).Run())
	var access env.Access
	must(t, json.Unmarshal(s.read("client.json"), &access))
	s.own = accessKey{access.KeyID, access.Secret}
	return s
}

func (s *stolen) read(name string) []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.t, err)
	return text
}

// pinion types a command of the page on the operator's host, again while the pool has no leader.
func (s *stolen) pinion(command ...string) {
	s.t.Helper()
	s.untilDone(s.t, func() *testbed.Host { return s.operator }, command...)
}

// checkOpens checks that something of the copy opens what it did, or waits until it does not: a host that did not decide hears of it.
func (s *stolen) checkOpens(what string, opens func() bool, want bool) {
	s.t.Helper()
	if !want {
		eventually(s.t, what+" opens nothing", func() bool { return !opens() })
	} else if !opens() {
		s.t.Errorf("%s opens nothing, so that this test shows nothing", what)
	}
}

// opensAPIWith reports whether a host answers who has an access key.
func (s *stolen) opensAPIWith(key accessKey) func() bool {
	return func() bool {
		transport := &http.Transport{DialContext: s.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		defer transport.CloseIdleConnections()
		for _, h := range s.others() {
			r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+h.Address()+"/v1/hosts", nil)
			must(s.t, err)
			r.Header.Set("Authorization", "Bearer "+key.ID+":"+key.Secret)
			answer, err := (&http.Client{Transport: transport, Timeout: requestTimeout}).Do(r)
			must(s.t, err)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return true
			}
		}
		return false
	}
}

// opensPeers reports whether a host lets the host of the copy in.
func (s *stolen) opensPeers() bool {
	return s.isHeard(peer.Peer, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
}

// opensRaft reports whether a server speaks Raft with it.
func (s *stolen) opensRaft() bool { return s.isHeard(peer.Raft, strings.Repeat("\x00", 8)) }

// isHeard reports whether a host says a word to who shows the certificate of the copy.
func (s *stolen) isHeard(alpn, preamble string) bool {
	s.t.Helper()
	text := s.read("pki/host.pem")
	cert, err := tls.X509KeyPair(text, text)
	must(s.t, err)
	for _, h := range s.others() {
		ctx, cancel := context.WithTimeout(s.t.Context(), requestTimeout)
		defer cancel()
		raw, err := s.Dial(ctx, "tcp", h.Address())
		must(s.t, err)
		defer raw.Close()
		must(s.t, raw.SetDeadline(time.Now().Add(requestTimeout)))
		conn := tls.Client(raw, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{alpn}, InsecureSkipVerify: true})
		_, _ = conn.Write([]byte(preamble))
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			return true
		}
	}
	return false
}

// opensSnapshot reports whether the sealing keys of the copy begin a pool from a snapshot of today.
func (s *stolen) opensSnapshot() bool {
	s.t.Helper()
	dir, snapshot := s.t.TempDir(), filepath.Join(s.t.TempDir(), "pinion.snapshot")
	s.pinion("snapshot", "save", snapshot)
	must(s.t, os.WriteFile(filepath.Join(dir, "seal.key"), s.read("seal.key"), 0o600))
	return s.operator.Run(exec.Command(s.operator.Binary(), "--data-dir", dir, "snapshot", "restore", snapshot)) == nil
}

// opensClientsWith reports whether a client that has this file takes who shows the certificate of the copy for a host of its pool.
func (s *stolen) opensClientsWith(file string) func() bool {
	text, err := os.ReadFile(file)
	must(s.t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	pem := s.read("pki/host.pem")
	shown, err := tls.X509KeyPair(pem, pem)
	must(s.t, err)
	return func() bool {
		between := x509.NewCertPool()
		for _, der := range shown.Certificate[1:] {
			cert, err := x509.ParseCertificate(der)
			must(s.t, err)
			between.AddCert(cert)
		}
		_, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: s.from.IP.String()})
		return err == nil
	}
}

// checkDoesNotComeBack starts the host again with what was copied.
func (s *stolen) checkDoesNotComeBack() {
	s.t.Helper()
	must(s.t, s.from.StartDetached())
	eventually(s.t, s.from.Name+" ends, and says why", func() bool {
		return s.from.Status() == "down" && strings.Contains(s.from.Output(), "removed from the pool")
	})
	if hosts, err := s.hostsByName(s.operator); err != nil || hosts[s.from.Name].ID != "" {
		s.t.Errorf("%s is back: %+v, %v", s.from.Name, hosts, err)
	}
}

// replaceAccessKeys makes another key for the user of the tests, and removes all that were there, those of hosts too.
func (s *stolen) replaceAccessKeys() {
	s.t.Helper()
	text, err := s.operator.Pinion("keys", "ls", "-q")
	must(s.t, err)
	s.makeKey(s.t, s.operator)
	s.clients.Clear()
	s.pinion(append([]string{"keys", "rm"}, strings.Fields(text)...)...)
}

// others are the hosts that run.
func (s *stolen) others() (all []*testbed.Host) {
	for _, h := range s.Hosts() {
		if h.Status() == "running" {
			all = append(all, h)
		}
	}
	return all
}

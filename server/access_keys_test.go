package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
	"pinion/server/seal"
)

// secretOf reads a key's secret as the API does.
func secretOf(t testing.TB, s *Server, id string) (string, error) {
	t.Helper()
	key := s.state.View().AccessKey(id)
	if key == nil {
		t.Fatalf("there is no key %s", id)
	}
	return s.accessKeys.KeySecret(key)
}

func TestASecretIsNeitherInTheLogNorInASnapshot(t *testing.T) {
	dir := t.TempDir()
	s := start(t, config(dir))
	first, err := s.accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.accessKeys.CreateKey(t.Context(), accesskey.Key{Role: accesskey.RoleSubmit, Cluster: "team-a"})
	if err != nil {
		t.Fatal(err)
	}
	var snapshot bytes.Buffer
	if err := view(t, s).WriteSnapshot(&snapshot); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	log, err := os.ReadFile(filepath.Join(dir, "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	again := start(t, config(dir))
	for _, key := range []accesskey.Key{first, second} {
		if !bytes.Contains(log, []byte(key.ID)) || !strings.Contains(snapshot.String(), key.ID) {
			t.Errorf("key %s is not where it ought to be", key.ID)
		}
		if bytes.Contains(log, []byte(key.Secret)) || strings.Contains(snapshot.String(), key.Secret) {
			t.Errorf("the secret of %s can be read", key.ID)
		}
		if secret, err := secretOf(t, again, key.ID); err != nil || secret != key.Secret {
			t.Errorf("after a restart the server reads %q, %v", secret, err)
		}
	}
	if recorded := again.state.View().AccessKey(second.ID); recorded.Role != accesskey.RoleSubmit || recorded.Cluster != "team-a" || recorded.HostID != "" {
		t.Errorf("%+v", recorded)
	}
}

func TestARemovedKeyIsGoneAndTheHostGetsAnother(t *testing.T) {
	s := start(t, config(t.TempDir()))
	first, err := s.accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.accessKeys.CreateKey(t.Context(), accesskey.Key{Role: accesskey.RoleAdmin}); err != nil { // of a person: never handed to hosts
		t.Fatal(err)
	}
	if err := s.accessKeys.RemoveKey(t.Context(), first.ID); err != nil || view(t, s).AccessKey(first.ID) != nil {
		t.Errorf("%v", err)
	}
	if err := s.accessKeys.RemoveKey(t.Context(), first.ID); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	other, err := s.accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil || other.ID == first.ID {
		t.Errorf("%s, %v", other.ID, err)
	}
}

// A snapshot that is restored where no sealing key is leaves keys that nobody can read.
func TestWithoutTheSealingKeyASecretIsUnavailableAndTheHostGetsANewKey(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.KeyringFile = filepath.Join(t.TempDir(), seal.File)
	s := start(t, cfg)
	key, err := s.accessKeys.HostKey(t.Context(), hostID, true)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	cfg.KeyringFile = filepath.Join(t.TempDir(), seal.File)
	s = start(t, cfg)
	if _, err := secretOf(t, s, key.ID); !errors.Is(err, spec.ErrUnavailable) || !strings.Contains(err.Error(), "seal.key") {
		t.Errorf("%v", err)
	}
	if other, err := s.accessKeys.HostKey(t.Context(), hostID, true); err != nil || other.ID == key.ID || view(t, s).AccessKey(key.ID) != nil {
		t.Errorf("%s, %v", other.ID, err)
	}
}

func TestANewServerHasTheSealingKeyAndAnAgentHasNot(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	key, err := p.leader().member.Keys.CreateKey(t.Context(), accesskey.Key{Role: accesskey.RoleSubmit})
	if err != nil {
		t.Fatal(err)
	}
	p.join(3)
	p.waitForVoters(3)
	for _, h := range p.hosts {
		own := h.member.localServer()
		if own == nil {
			if _, err := os.Stat(filepath.Join(h.dir, seal.File)); err == nil {
				t.Errorf("host %d is an agent and has the sealing key", h.n)
			}
			continue
		}
		eventually(t, "the server can read the key", func() bool {
			known := own.state.View().AccessKey(key.ID)
			if known == nil {
				return false
			}
			secret, err := own.accessKeys.KeySecret(known)
			return err == nil && secret == key.Secret
		})
	}
}

package server

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pinion/packaging/keystore"
	"pinion/packaging/keystore/keystoretest"
	"pinion/raftfsm/accesskey"
	"pinion/server/pki"
	"pinion/server/recovery"
	"pinion/server/seal"
)

const unlockSecret = "the secret of these hosts"

// startLocked starts a host that has an unlock secret before it has a key.
func (p *pool) startLocked(change func(*MemberConfig)) *testHost {
	p.t.Helper()
	h := p.host(change)
	keystoretest.Lock(p.t, h.dir, unlockSecret)
	unlock(p.t, h)
	if err := h.start(); err != nil {
		p.t.Fatal(err)
	}
	return h
}

func unlock(t *testing.T, h *testHost) {
	t.Helper()
	var err error
	if h.keys, err = keystore.Open(h.dir, []byte(unlockSecret)); err != nil || !h.keys.Locked() {
		t.Fatal(err)
	}
}

// secretsOf are the secrets that a host's disk may not tell, in the forms that they have in files and in memory.
func secretsOf(t *testing.T, h *testHost, known map[string][]byte) {
	t.Helper()
	for _, raw := range ringOf(t, h.dir, h.keys).Keys() {
		known["sealing key "+seal.NameOf(raw)], known["sealing key in hex "+seal.NameOf(raw)] = raw, []byte(hex.EncodeToString(raw))
	}
	own, err := h.keys.Read(filepath.Join(h.dir, "pki", "host.pem"))
	if err != nil {
		t.Fatal(err)
	}
	_, key := pem.Decode(own) // the certificate comes first
	for form, text := range clearForms(t, key) {
		known["key of host "+h.cfg.HostID+" as "+form] = text
	}
	for form, text := range clearForms(t, heldCA(t, h).Key) {
		known["key of the CA as "+form] = text
	}
	access, err := h.member.Admission.HostKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known["access key of host "+h.cfg.HostID] = []byte(access.Secret)
}

// Somebody copies all that a server has whose keys have an unlock secret: one that began the pool, one that was promoted, after
// a rotation. Nothing in it is a key, nothing opens one, and what is sealed stays sealed.
func TestAStolenDataDirectoryOfALockedServerOpensNothing(t *testing.T) {
	p := newPool(t)
	first := p.startLocked(nil)
	token := p.joinToken()
	for range 2 {
		p.startLocked(func(c *MemberConfig) { c.Join, c.JoinToken = first.where, token })
	}
	p.waitForVoters(3)
	secrets := map[string][]byte{}
	for id, secret := range p.createKeys(2) {
		secrets["access key "+id] = []byte(secret)
	}
	for rotation := range 2 {
		if rotation > 0 {
			p.rotateSealingKey()
			p.waitUntilSealed()
		}
		for _, h := range p.hosts {
			eventually(t, "the host has the keys of a server", func() bool {
				_, held := h.cfg.Identity.CA()
				return held && len(ringOf(t, h.dir, h.keys).Keys()) > 0
			})
			secretsOf(t, h, secrets)
		}
	}
	for _, h := range p.hosts {
		h.close()
		checkOpensNothing(t, steal(t, h), secrets)
	}
}

func checkOpensNothing(t *testing.T, dir string, secrets map[string][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for name, secret := range secrets {
			if bytes.Contains(text, secret) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(secret))) {
				t.Errorf("%s has %s", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range [][]byte{nil, []byte("a guess at it")} {
		if _, err := keystore.Open(dir, secret); !errors.Is(err, keystore.ErrUnlock) {
			t.Errorf("its keys open with %q: %v", secret, err)
		}
	}
	if _, err := seal.Open(filepath.Join(dir, seal.File), nil); !errors.Is(err, keystore.ErrUnlock) {
		t.Errorf("its keyring opens: %v", err)
	}
	if _, err := pki.Open(filepath.Join(dir, "pki"), "some host", nil); !errors.Is(err, keystore.ErrUnlock) {
		t.Errorf("its certificates open: %v", err)
	}
}

// A locked server starts again with its secret, and hosts with and without one are of one pool.
func TestALockedServerStartsAgainWithItsSecret(t *testing.T) {
	p := newPool(t)
	first := p.startLocked(nil)
	p.join(1) // in clear
	keys := p.createKeys(1)
	first.close()
	unlock(t, first)
	if err := first.start(); err != nil {
		t.Fatal(err)
	}
	known, ca := opened(p.view(), ringOf(t, first.dir, first.keys))
	for id, secret := range keys {
		if known[id] != secret || !ca {
			t.Errorf("access key %s is %q; the CA: %t", id, known[id], ca)
		}
	}
	eventually(t, "the other host is connected", func() bool { return first.member.Connected(p.hosts[1].cfg.HostID) })
}

// A snapshot of a locked server is restored on another machine with the server's two files and its secret.
func TestASnapshotOfALockedServerIsRestoredWithItsSecret(t *testing.T) {
	p := newPool(t)
	first := p.startLocked(nil)
	var file bytes.Buffer
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &file, false); err != nil {
		t.Fatal(err)
	}
	first.close()
	other := p.host(nil)
	copyKeyring(t, first, other)
	prepareRestore(t, other, first.where)
	if _, err := recovery.RestorePool(t.Context(), offline(other), bytes.NewReader(file.Bytes())); !errors.Is(err, keystore.ErrUnlock) {
		t.Errorf("without the secret: %v", err)
	}
	text := readFile(t, filepath.Join(first.dir, keystore.LockFile))
	if err := os.WriteFile(filepath.Join(other.dir, keystore.LockFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock(t, other)
	prepareRestore(t, other, first.where)
	if _, err := recovery.RestorePool(t.Context(), offline(other), bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if key, err := other.member.Keys.CreateKey(t.Context(), accesskey.Key{Role: accesskey.RoleRead}); err != nil || key.Secret == "" {
		t.Errorf("%v", err)
	}
	if in, locked, err := keystore.InClear(other.dir); err != nil || !locked || len(in) != 0 {
		t.Errorf("in clear are %v, %t, %v", in, locked, err)
	}
}

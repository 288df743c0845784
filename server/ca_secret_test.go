package server

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/recovery"
	"pinion/server/seal"
)

// clearForms are the forms in which somebody could find the key of the pool's CA.
func clearForms(t *testing.T, keyPEM []byte) map[string][]byte {
	t.Helper()
	block, _ := pem.Decode(keyPEM)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	number, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"PEM": []byte("PRIVATE KEY"), "a line of PEM": keyPEM[32:64], "PEM in JSON": []byte(base64.StdEncoding.EncodeToString(keyPEM)[:60]),
		"DER": block.Bytes, "number": number,
	}
}

// Whoever gets a snapshot, a backup or Raft's files cannot sign certificates: the CA's key is in them sealed.
func TestTheKeyOfTheCAIsInNoSnapshotAndNotInTheLog(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	own := first.member.localServer()
	forms := clearForms(t, heldCA(t, first).Key)
	var saved bytes.Buffer
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &saved, false); err != nil {
		t.Fatal(err)
	}
	if err := own.node.Raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a daily backup", func() bool {
		files, _ := filepath.Glob(filepath.Join(first.dir, "snapshots", "*.snapshot"))
		return len(files) == 1
	})
	texts := map[string][]byte{"the API's snapshot": saved.Bytes()}
	for _, dir := range []string{"raft", "snapshots"} {
		err := filepath.WalkDir(filepath.Join(first.dir, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
			texts[path], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	states := 0
	for name, text := range texts {
		sealed := own.state.View().CA().SealedKey
		if bytes.Contains(text, sealed) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(sealed))) {
			states++
		}
		for form, secret := range forms {
			if bytes.Contains(text, secret) {
				t.Errorf("%s holds the CA's key as %s", name, form)
			}
		}
	}
	if states < 4 { // the API's, the daily one, Raft's, the log
		t.Errorf("the sealed key is in %d files: this test looks in the wrong ones", states)
	}
}

// A snapshot alone begins no pool: who has only that cannot speak for the pool.
func TestASnapshotIsRestoredOnlyWithTheSealingKeys(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	var file bytes.Buffer
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &file, false); err != nil {
		t.Fatal(err)
	}
	first.close()
	other := p.host(nil)
	prepareRestore(t, other, first.where)
	_, err := recovery.RestorePool(t.Context(), offline(other), bytes.NewReader(file.Bytes()))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(other.dir, seal.File)) {
		t.Fatalf("without the sealing keys: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other.dir, "raft")); err == nil || other.cfg.Identity.Ready() {
		t.Error("a refused restore changed the data directory")
	}
	copyKeyring(t, first, other)
	if _, err := recovery.RestorePool(t.Context(), offline(other), bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if heldCA(t, other).Key == nil {
		t.Error("the restored host has no CA")
	}
}

// A server that lost its sealing keys still has the CA's key, and seals it anew.
func TestAServerThatLostItsSealingKeysSealsTheCAAnew(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	before := *first.member.localServer().state.View().CA()
	first.close()
	if err := os.Remove(filepath.Join(first.dir, seal.File)); err != nil {
		t.Fatal(err)
	}
	if err := first.start(); err != nil {
		t.Fatal(err)
	}
	var after spec.CA
	eventually(t, "the CA is sealed anew", func() bool {
		after = *p.view().CA()
		return after.Seal != before.Seal
	})
	if ca, err := first.member.localServer().authority.CA(); err != nil || !bytes.Equal(ca.Key, heldCA(t, first).Key) || !bytes.Equal(after.Certificate, before.Certificate) {
		t.Errorf("%v", err)
	}
}

package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli"
	"pinion/api/cli/env"
	"pinion/api/cli/exit"
	"pinion/api/cli/unlock"
	"pinion/api/client"
	"pinion/node/datadir"
	"pinion/packaging/keystore"
	"pinion/packaging/keystore/keystoretest"
)

const unlockSecret = "the secret of this host"

// keysOnDisk are the regular files of a data directory that a host changes only when it runs.
func keysOnDisk(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*", "pki/*", "raft/*", "snapshots/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() || filepath.Base(path) == "lock" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = string(text)
		}
	}
	return files
}

// saveSnapshot saves the state of a host that runs.
func saveSnapshot(t *testing.T, dir string) (file string) {
	t.Helper()
	pinion, err := client.New(client.Config{Socket: filepath.Join(dir, "pinion.sock")})
	if err != nil {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := pinion.SaveSnapshot(t.Context(), &state, false); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "pinion.snapshot")
	if err := os.WriteFile(file, state.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A host with an unlock secret has no key in clear on its disk, its own access key included, and does not start without the secret.
func TestALockedHostStartsWithItsSecretOnly(t *testing.T) {
	dir := newDataDir(t)
	keystoretest.Lock(t, dir, unlockSecret)
	end := startLockedHost(t, dir, unlockSecret)
	text, err := os.ReadFile(filepath.Join(dir, "client.json"))
	var access env.Access
	if err := errors.Join(err, json.Unmarshal(text, &access)); err != nil || access.Secret == "" {
		t.Fatalf("clients on this machine learn %+v, %v", access, err)
	}
	snapshot := saveSnapshot(t, dir)
	files := keysOnDisk(t, dir)
	if len(files) < 8 {
		t.Errorf("this test looks in the wrong place: %d files", len(files))
	}
	for path, text := range files {
		if strings.Contains(text, access.Secret) || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s has a key in clear", path)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, dir)
	checkRestored(t, dir, snapshot)
}

// checkRefused checks that a host without its secret does not start, says why to systemd too, and changes nothing.
func checkRefused(t *testing.T, dir string) {
	t.Helper()
	before := keysOnDisk(t, dir)
	for _, secret := range [][]byte{nil, []byte("a guess at it")} {
		config := cli.UpConfig{DataDir: dir, Listen: "127.0.0.1:0", GPUs: cli.GPUOptions{Source: "none"}, Cluster: "default", Unlock: secret}
		err := Build{}.Up(t.Context(), config)
		if coded, ok := errors.AsType[*exit.Error](err); !ok || coded.Code != exit.Locked || !errors.Is(err, keystore.ErrUnlock) {
			t.Errorf("with the secret %q: %v", secret, err)
		}
		if err := (Build{}).Recover(t.Context(), cli.OfflineHost{DataDir: dir, Unlock: secret}); !errors.Is(err, keystore.ErrUnlock) {
			t.Errorf("it was recovered with the secret %q: %v", secret, err)
		}
	}
	if !maps.Equal(before, keysOnDisk(t, dir)) {
		t.Error("files were changed")
	}
}

// checkRestored restores a snapshot on another machine, where there are only the two files of a server that the manual says to copy.
func checkRestored(t *testing.T, from, snapshot string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"seal.key", keystore.LockFile} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := (Build{}).Restore(t.Context(), cli.OfflineHost{DataDir: dir}, snapshot); !errors.Is(err, keystore.ErrUnlock) {
		t.Errorf("it was restored without the secret: %v", err)
	}
	if err := os.Symlink(filepath.Join(from, "bundle"), filepath.Join(dir, "bundle")); err != nil { // or unpacking takes most of the test
		t.Fatal(err)
	}
	if err := (Build{}).Restore(t.Context(), cli.OfflineHost{DataDir: dir, Unlock: []byte(unlockSecret)}, snapshot); err != nil {
		t.Error(err)
	}
	if inClear, locked, err := keystore.InClear(dir); err != nil || !locked || len(inClear) > 0 {
		t.Errorf("in clear there: %v, %t, %v", inClear, locked, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pki", "ca.pem")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the restored host has no CA")
	}
}

// A secret is set, changed and taken away on a host that does not run. What becomes of its files is the keystore's, and has its tests there.
func TestTheUnlockSecretOfAHostIsSetChangedAndTakenAway(t *testing.T) {
	dir := t.TempDir()
	keystoretest.Lock(t, dir, unlockSecret) // at a cost of scrypt that suits tests
	const other = "another secret"
	for _, c := range []struct {
		change unlock.Config
		locked bool
		err    error
	}{
		{unlock.Config{Action: unlock.Set, Secret: []byte(unlockSecret)}, true, nil},
		{unlock.Config{Action: unlock.Set, Secret: []byte(other)}, true, keystore.ErrUnlock},
		{unlock.Config{Action: unlock.Change, Secret: []byte(other), NewSecret: []byte(other)}, true, keystore.ErrUnlock},
		{unlock.Config{Action: unlock.Off, Secret: []byte(unlockSecret)}, false, nil},
	} {
		c.change.DataDir = dir
		if err := Unlock(t.Context(), c.change); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.change.Action, err)
		}
		if _, locked, err := keystore.InClear(dir); err != nil || locked != c.locked {
			t.Errorf("after %s it is locked: %t, %v", c.change.Action, locked, err)
		}
	}
	err := Unlock(t.Context(), unlock.Config{DataDir: dir, Action: unlock.Off, Secret: []byte(other)})
	if coded, ok := errors.AsType[*exit.Error](err); !ok || coded.Code != exit.Locked {
		t.Errorf("off without a secret: %v", err)
	}
	running, err := datadir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := Unlock(t.Context(), unlock.Config{DataDir: dir, Action: unlock.Set, Secret: []byte(other)}); err == nil {
		t.Error("a secret was set while the host runs")
	}
	if _, locked, _ := keystore.InClear(dir); locked {
		t.Error("what runs was locked")
	}
}

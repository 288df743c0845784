package keystore

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/packaging/atomicfile"
)

const (
	secret = "correct horse battery"
	other  = "another secret"
)

// dataDir is a data directory with keys in clear, and what each file holds.
func dataDir(t *testing.T) (dir string, keys map[string]string) {
	t.Helper()
	workFactor, writeFile, syncDir = 2, atomicfile.Replace, func(string) error { return nil } // the cost of scrypt and syncs is no matter here
	dir = t.TempDir()
	keys = map[string]string{"seal.key": strings.Repeat("0123456789abcdef", 12), "pki/ca.pem": strings.Repeat("key of the CA ", 90), "pki/host.pem": "key of the host"}
	for name, text := range keys {
		put(t, dir, name, text)
	}
	put(t, dir, "pki/ca.crt", "everybody may read this")
	put(t, dir, "client.json", "an access key")
	return dir, keys
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// lockedDir is one whose keys are encrypted with the secret.
func lockedDir(t *testing.T) (dir string, keys map[string]string) {
	t.Helper()
	dir, keys = dataDir(t)
	if err := Set(dir, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	return dir, keys
}

// contents are the files of a directory by their names in it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkOpens checks that a store has the keys.
func checkOpens(t *testing.T, dir string, keys map[string]string, with []byte) {
	t.Helper()
	s, err := Open(dir, with)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range keys {
		if got, err := s.Read(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// checkTellsNothing checks that no file of a directory has a key in clear.
func checkTellsNothing(t *testing.T, dir string, keys map[string]string) {
	t.Helper()
	for name, text := range contents(t, dir) {
		for of, key := range keys {
			if strings.Contains(text, key) || name == "client.json" {
				t.Errorf("%s tells what %s holds", name, of)
			}
		}
	}
}

func TestKeysAreEncryptedWithASecret(t *testing.T) {
	dir, keys := lockedDir(t)
	checkTellsNothing(t, dir, keys)
	checkOpens(t, dir, keys, []byte(secret))
	s, err := Open(dir, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	keys["seal.key"], keys["pki/host.key"] = "a key that came later", "a key for a first certificate"
	for _, name := range []string{"seal.key", "pki/host.key"} {
		if err := s.Write(filepath.Join(dir, name), []byte(keys[name])); err != nil {
			t.Fatal(err)
		}
	}
	checkTellsNothing(t, dir, keys)
	checkOpens(t, dir, keys, []byte(secret))
	if err := Off(dir, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	checkOpens(t, dir, keys, nil)
	if in, locked, err := InClear(dir); err != nil || locked || len(in) != len(keys) {
		t.Errorf("in clear: %v, %t, %v", in, locked, err)
	}
}

// Whoever has an old copy of the lock file and the secret before does not open what is written after a change.
func TestAChangedSecretEndsTheOneBefore(t *testing.T) {
	dir, keys := lockedDir(t)
	old := contents(t, dir)[LockFile]
	if err := Change(dir, []byte(secret), []byte(other)); err != nil {
		t.Fatal(err)
	}
	checkOpens(t, dir, keys, []byte(other))
	if _, err := Open(dir, []byte(secret)); !errors.Is(err, ErrUnlock) {
		t.Errorf("the secret before: %v", err)
	}
	put(t, dir, LockFile, old)
	if _, err := Open(dir, []byte(secret)); !errors.Is(err, ErrUnlock) {
		t.Errorf("the lock file before: %v", err)
	}
}

func TestWithoutTheSecretNothingOpensAndNothingChanges(t *testing.T) {
	mismatches := map[string]struct {
		with   string
		change func(t *testing.T, dir string)
	}{
		"no secret":      {"", func(*testing.T, string) {}},
		"another secret": {other, func(*testing.T, string) {}},
		"a key in clear": {secret, func(t *testing.T, dir string) { put(t, dir, "seal.key", "in clear") }},
		"a key of another host": {secret, func(t *testing.T, dir string) {
			from, _ := lockedDir(t)
			put(t, dir, "seal.key", contents(t, from)["seal.key"])
		}},
		"a damaged key":  {secret, func(t *testing.T, dir string) { put(t, dir, "seal.key", contents(t, dir)["seal.key"][:150]) }},
		"a damaged lock": {secret, func(t *testing.T, dir string) { put(t, dir, LockFile, contents(t, dir)[LockFile][:100]) }},
		"an empty lock":  {secret, func(t *testing.T, dir string) { put(t, dir, LockFile, "") }},
		"a costly lock": {secret, func(t *testing.T, dir string) {
			put(t, dir, LockFile, strings.Replace(contents(t, dir)[LockFile], " 2\n", " 20\n", 1))
		}},
		"no lock, and no secret":  {"", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, LockFile)) }},
		"no lock, but the secret": {secret, func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, LockFile)) }},
	}
	for name, m := range mismatches {
		t.Run(name, func(t *testing.T) {
			dir, _ := lockedDir(t)
			m.change(t, dir)
			before := contents(t, dir)
			var with []byte
			if m.with != "" {
				with = []byte(m.with)
			}
			_, err := Open(dir, with)
			if !errors.Is(err, ErrUnlock) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v", err)
			}
			if !maps.Equal(before, contents(t, dir)) {
				t.Error("files were changed")
			}
			if name == "a costly lock" && !strings.Contains(err.Error(), "work factor") {
				t.Errorf("it was tried: %v", err)
			}
		})
	}
}

func TestASecretFitsItsPurpose(t *testing.T) {
	for _, unfit := range [][]byte{nil, []byte("1234567"), bytes.Repeat([]byte("x"), MaxSecret+1)} {
		dir, _ := dataDir(t)
		before := contents(t, dir)
		if err := Set(dir, unfit); err == nil || !maps.Equal(before, contents(t, dir)) {
			t.Errorf("a secret of %d bytes: %v", len(unfit), err)
		}
	}
	dir, keys := lockedDir(t)
	if err := Change(dir, []byte(secret), []byte("short")); err == nil {
		t.Error("changed to a short one")
	}
	if err := Set(dir, []byte(other)); !errors.Is(err, ErrUnlock) {
		t.Errorf("set over another one: %v", err)
	}
	checkOpens(t, dir, keys, []byte(secret))
}

package seal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	id     = "AKIA1"
	secret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
)

func open(t *testing.T, path string) *Keyring {
	t.Helper()
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sealed(t *testing.T, r *Keyring) (text []byte, name string) {
	t.Helper()
	text, name, err := r.Seal(id, secret, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("%q shows the secret", text)
	}
	return text, name
}

func TestASecretOpensOnWhateverServerHasTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.key")
	first := open(t, path)
	text, name := sealed(t, first)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	other := open(t, filepath.Join(t.TempDir(), "seal.key"))
	sealed(t, other) // it had made a key of its own
	if _, err := other.Open(id, text, name); !errors.Is(err, ErrNoKey) {
		t.Errorf("a server without the key: %v", err)
	}
	if err := other.Add(first.Keys()...); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*Keyring{"the same": first, "after a restart": open(t, path), "another server": other, "that one after a restart": open(t, other.path)} {
		if got, err := r.Open(id, text, name); err != nil || got != secret {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if _, again := sealed(t, other); again == name || len(other.Keys()) != 2 {
		t.Errorf("it goes on with a key that was added, of %d", len(other.Keys()))
	}
}

func TestWhatWasChangedOrMovedDoesNotOpen(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "seal.key"))
	text, name := sealed(t, r)
	if _, err := r.Open("AKIA2", text, name); err == nil {
		t.Error("it opens under another id")
	}
	text[len(text)-1] ^= 1
	if _, err := r.Open(id, text, name); err == nil {
		t.Error("it opens with a bit flipped")
	}
	if _, err := r.Open(id, nil, name); err == nil {
		t.Error("nothing opens")
	}
}

func TestADroppedRingLeavesNothingBehind(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "seal.key"))
	text, name := sealed(t, r)
	if err := r.Drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.path); err == nil || r.Has(name) {
		t.Error("the key is still there")
	}
	if _, err := r.Open(id, text, name); !errors.Is(err, ErrNoKey) {
		t.Error(err)
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.key")
	for _, text := range []string{"00ff\n", "not hex\n", strings.Repeat("0", 64) + "\nx\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

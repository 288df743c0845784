package signature

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

const release = "the bytes of a release"

func newKey(t *testing.T) PrivateKey {
	t.Helper()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, key PrivateKey, comment string) []byte {
	t.Helper()
	text, err := Sign(strings.NewReader(release), key, comment)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestASignatureHoldsForItsFileItsCommentAndItsKey(t *testing.T) {
	key, other := newKey(t), newKey(t)
	signed := sign(t, key, "pinion v1.2.3")
	trusted := Keys{other.Public(), key.Public()}
	whole := minisign.Sign(key.key, []byte(release))
	for _, c := range []struct {
		name      string
		file      string
		signature []byte
		keys      Keys
		want      error
	}{
		{"the file that was signed", release, signed, trusted, nil},
		{"a byte more", release + "x", signed, trusted, ErrMismatch},
		{"an empty file", "", signed, trusted, ErrMismatch},
		{"another comment", release, bytes.Replace(signed, []byte("v1.2.3"), []byte("v9.9.9"), 1), trusted, ErrMismatch},
		{"a key that is not trusted", release, signed, Keys{other.Public()}, ErrUnknownKey},
		{"no key is trusted", release, signed, nil, ErrNoKeys},
		{"another key with the same number", release, signed, Keys{withNumber(t, other.Public(), key.key.ID())}, ErrMismatch},
		{"a signature over the file itself", release, whole, trusted, ErrMalformed},
		{"half a signature", release, signed[:len(signed)/2], trusted, ErrMalformed},
		{"no signature", release, nil, trusted, ErrMalformed},
		{"a signature without an end", release, append(bytes.Clone(signed), bytes.Repeat([]byte("\n"), maxBytes)...), trusted, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			comment, err := Verify(strings.NewReader(c.file), c.signature, c.keys)
			if !errors.Is(err, c.want) {
				t.Fatalf("Verify: %v, want %v", err, c.want)
			}
			if want := map[bool]string{true: "pinion v1.2.3"}[c.want == nil]; comment != want {
				t.Errorf("comment %q, want %q", comment, want)
			}
		})
	}
}

// withNumber gives a public key another number, which is no part of what the owner of a key proves.
func withNumber(t *testing.T, key PublicKey, id uint64) PublicKey {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key.String())
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(raw[2:], id)
	keys, err := ParseKeys([]string{base64.StdEncoding.EncodeToString(raw)})
	if err != nil {
		t.Fatal(err)
	}
	return keys[0]
}

func TestACommentIsOneLine(t *testing.T) {
	if _, err := Sign(strings.NewReader(release), newKey(t), "pinion\ntrusted comment: another"); err == nil {
		t.Error("a comment of two lines was signed")
	}
}

func TestAFileThatCannotBeReadIsNotVerified(t *testing.T) {
	key := newKey(t)
	directory, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer directory.Close()
	if _, err := Verify(directory, sign(t, key, ""), Keys{key.Public()}); err == nil || errors.Is(err, ErrMismatch) {
		t.Errorf("Verify of what cannot be read: %v", err)
	}
}

func TestPublicKeysAreLines(t *testing.T) {
	key := newKey(t).Public()
	keys, err := ParseKeys([]string{" " + key.String() + "\n"})
	if err != nil || len(keys) != 1 || keys[0].String() != key.String() {
		t.Errorf("ParseKeys: %v, %v; want %v", keys, err, key)
	}
	for _, wrong := range []string{"", "RWQ", strings.ToLower(key.String()), key.String()[1:]} {
		if _, err := ParseKeys([]string{wrong}); err == nil {
			t.Errorf("%q is a key", wrong)
		}
	}
}

func TestAnEncryptedPrivateKeyNeedsItsPassword(t *testing.T) {
	text, err := newKey(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	comment, encoded, _ := strings.Cut(string(text), "\n")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[2:], "Sc") // the key is encrypted with scrypt
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(comment+"\n"+base64.StdEncoding.EncodeToString(raw)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrivateKey(path, ""); !errors.Is(err, ErrEncrypted) {
		t.Errorf("without its password: %v", err)
	}
	if _, err := ReadPrivateKey(path, "guessed"); err == nil {
		t.Error("a wrong password opens it")
	}
}

// TestTheProgramMinisignAgrees signs with it and verifies here, and the other way round.
func TestTheProgramMinisignAgrees(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("the program minisign (Debian: minisign) is not on this machine")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		command := exec.Command(program, args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("minisign %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-G", "-W", "-p", "its.pub", "-s", "its.key")
	run("-S", "-s", "its.key", "-m", "file", "-t", "made by minisign")
	theirs, err := ReadPrivateKey(filepath.Join(dir, "its.key"), "")
	if err != nil {
		t.Fatal(err)
	}
	public, _ := os.ReadFile(filepath.Join(dir, "its.pub"))
	signed, _ := os.ReadFile(filepath.Join(dir, "file"+Extension))
	keys, err := ParseKeys(strings.Split(strings.TrimSpace(string(public)), "\n")[1:])
	if err != nil {
		t.Fatal(err)
	}
	if comment, err := Verify(strings.NewReader(release), signed, keys); err != nil || comment != "made by minisign" {
		t.Errorf("a signature of minisign: %q, %v", comment, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"+Extension), sign(t, theirs, "made here"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-V", "-p", "its.pub", "-m", "file")
	run("-V", "-P", theirs.Public().String(), "-m", "file")
}

package upgrade

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

func newKey(t *testing.T) signature.PrivateKey {
	t.Helper()
	key, err := signature.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, program string, key signature.PrivateKey) []byte {
	t.Helper()
	text, err := signature.Sign(strings.NewReader(program), key, "pinion B")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A signature that is wrong refuses the program before it runs, whoever asks; root of the machine may go without one, also where no key is trusted.
func TestAProgramWithAWrongSignatureIsRefusedAndNeverRuns(t *testing.T) {
	key, other := newKey(t), newKey(t)
	for name, c := range map[string]struct {
		keys      signature.Keys
		signature []byte
		signed    bool
		want      error
	}{
		"signed":                   {signature.Keys{other.Public(), key.Public()}, sign(t, programB, key), true, nil},
		"not signed":               {signature.Keys{key.Public()}, nil, false, nil},
		"signed, no key here":      {nil, sign(t, programB, key), false, nil},
		"another program's":        {signature.Keys{key.Public()}, sign(t, programA, key), false, signature.ErrMismatch},
		"by a key of somebody":     {signature.Keys{key.Public()}, sign(t, programB, other), false, signature.ErrUnknownKey},
		"an empty file beside it":  {signature.Keys{key.Public()}, []byte{}, false, signature.ErrMalformed},
		"half a signature":         {signature.Keys{key.Public()}, sign(t, programB, key)[:100], false, signature.ErrMalformed},
		"the signature of no file": {signature.Keys{key.Public()}, []byte("untrusted comment: x\nRW\ntrusted comment: y\nAA\n"), false, signature.ErrMalformed},
	} {
		m := newMachine(t)
		ran := filepath.Join(t.TempDir(), "ran")
		if c.want != nil {
			put(t, m.staged, "#!/bin/sh\ntouch "+ran+"\n"+programB)
			if errors.Is(c.want, signature.ErrUnknownKey) {
				c.signature = sign(t, "#!/bin/sh\ntouch "+ran+"\n"+programB, other)
			}
		}
		if err := Trust(m.dataDir, c.keys); err != nil {
			t.Fatal(err)
		}
		a := upgrade.Attempt{Binary: m.binary}
		path, err := stage(t.Context(), m.staged, upgrade.Config{DataDir: m.dataDir, Signature: c.signature, Progress: func(string) {}}, &a)
		if !errors.Is(err, c.want) || a.Signed != c.signed {
			t.Errorf("%s: signed %t, %v", name, a.Signed, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the program was run", name)
		}
		os.Remove(path)
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(m.binary), "*")); err != nil || len(left) != 2 {
			t.Errorf("%s: left behind: %v %v", name, left, err)
		}
	}
}

// Keys that cannot be read refuse a program with a signature: nobody knows whether it is good.
func TestDamagedReleaseKeysRefuseWhatIsSigned(t *testing.T) {
	m := newMachine(t)
	put(t, filepath.Join(m.dataDir, keysFile), "RWnothing\n")
	if _, err := verify(m.staged, upgrade.Config{DataDir: m.dataDir, Signature: sign(t, programB, newKey(t))}); err == nil || !strings.Contains(err.Error(), keysFile) {
		t.Errorf("%v", err)
	}
}

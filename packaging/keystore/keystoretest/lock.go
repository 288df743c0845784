// Package keystoretest locks data directories of tests.
package keystoretest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"pinion/packaging/keystore"
)

// Lock gives a data directory without keys an unlock secret, as keystore.Set does, at a cost of scrypt that suits tests.
func Lock(t testing.TB, dir, secret string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	to, err := age.NewScryptRecipient(secret)
	if err != nil {
		t.Fatal(err)
	}
	to.SetWorkFactor(2)
	var file bytes.Buffer
	w, err := age.Encrypt(&file, to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte(identity.String()))
	if err := errors.Join(err, w.Close(), os.WriteFile(filepath.Join(dir, keystore.LockFile), file.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

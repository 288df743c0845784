// Package keystore keeps the private keys of a data directory. While the directory has an unlock secret, the files of the keys are
// encrypted, and what opens them is in the memory of the process alone.
package keystore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"

	"pinion/packaging/atomicfile"
)

// ErrUnlock is the error of everything that an operator has to decide: a secret that is missing or wrong, keys in clear where they should be
// encrypted, and the other way round. Nothing was changed, and trying again does not help.
var ErrUnlock = errors.New("cannot unlock the keys of this host")

// keyFiles are the files with private keys, below the data directory.
var keyFiles = []string{"seal.key", "pki/*.pem", "pki/*.key"}

// header begins each encrypted file: the first line of the age format.
const header = "age-encryption.org/v1\n"

// maxFile bounds what is read of a file. The largest has a line for each sealing key.
const maxFile = 1 << 20

// Store reads and writes files with private keys. The files of one without identities, and of nil, are in clear. It is safe for
// concurrent use.
type Store struct {
	identities []*age.X25519Identity // the first encrypts; a second one is there while the secret is being changed
}

// Locked reports whether the files are encrypted.
func (s *Store) Locked() bool { return s != nil && len(s.identities) > 0 }

// Read is the content of a file. fs.ErrNotExist when it is not there, ErrUnlock when it is not encrypted as the others are.
func (s *Store) Read(path string) ([]byte, error) {
	text, encrypted, err := readFile(path)
	switch {
	case err != nil:
		return nil, err
	case encrypted && !s.Locked():
		return nil, fmt.Errorf("%w: %s is encrypted with an unlock secret that was not given", ErrUnlock, path)
	case !encrypted && s.Locked():
		return nil, fmt.Errorf("%w: %s is in clear: `pinion unlock` did not come to its end, or somebody put the file there; run `pinion unlock set` again with the same secret, or `pinion unlock off`", ErrUnlock, path)
	case !encrypted:
		return text, nil
	}
	return s.decrypt(path, text)
}

func (s *Store) decrypt(path string, text []byte) ([]byte, error) {
	var identities []age.Identity
	for _, identity := range s.identities {
		identities = append(identities, identity)
	}
	clear, err := decrypt(text, identities...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s does not open (%w): it is damaged, or of another host; put back a backup of it together with the %s of that backup", ErrUnlock, path, err, LockFile)
	}
	return clear, nil
}

// Write replaces a file durably, with mode 0600.
func (s *Store) Write(path string, content []byte) error {
	if s.Locked() {
		var err error
		if content, err = encrypt(content, s.identities[0].Recipient()); err != nil {
			return err
		}
	}
	return writeFile(path, content, 0o600)
}

// Variables for tests of crashes.
var (
	writeFile = atomicfile.Write
	syncDir   = atomicfile.SyncDir
)

func readFile(path string) (text []byte, encrypted bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	text, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is damaged: it has more than %d bytes", path, maxFile)
	}
	return text, bytes.HasPrefix(text, []byte(header)), err
}

func encrypt(clear []byte, to age.Recipient) ([]byte, error) {
	var text bytes.Buffer
	w, err := age.Encrypt(&text, to)
	if err == nil {
		_, err = w.Write(clear)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt a key: %w", err)
	}
	return text.Bytes(), nil
}

func decrypt(text []byte, identities ...age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(text), identities...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// filesOf are the files with private keys that a data directory has.
func filesOf(dir string) (paths []string, err error) {
	for _, pattern := range keyFiles {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// InClear are the files with private keys of a data directory that are not encrypted, and whether the directory has an unlock secret.
func InClear(dir string) (paths []string, locked bool, err error) {
	if _, err = os.Stat(filepath.Join(dir, LockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	locked = err == nil
	all, err := filesOf(dir)
	for _, path := range all {
		_, encrypted, err := readFile(path)
		if err != nil {
			return nil, locked, err
		}
		if !encrypted {
			paths = append(paths, path)
		}
	}
	return slices.Clip(paths), locked, err
}

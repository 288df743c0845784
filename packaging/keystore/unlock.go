package keystore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"pinion/packaging/atomicfile"
)

// LockFile holds, below the data directory, the identity that opens the files of the keys, encrypted with the unlock secret: an
// identity file of age with a passphrase, which `age -d -i` takes too.
const LockFile = "unlock.age"

// The sizes of an unlock secret, in bytes.
const (
	MinSecret = 8
	MaxSecret = 4096
)

// workFactor is the cost of scrypt as a power of two, which OWASP recommends: 128 MiB and some 0.4 s, once for each start. A file that asks for more
// than maxWorkFactor, which is age's own choice, is refused. It is a variable for tests.
var workFactor = 17

const maxWorkFactor = 18

// Open opens the keys of a data directory, which this process has locked against others. secret is nil when none was given. ErrUnlock
// unless every file opens, or none needs to be opened.
func Open(dir string, secret []byte) (*Store, error) {
	s, err := openLock(dir, secret)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		_, err := s.Read(path)
		if errors.Is(err, ErrUnlock) && !s.Locked() {
			return nil, fmt.Errorf("%w: %s is encrypted and %s is not there: put it back from the same backup", ErrUnlock, path, filepath.Join(dir, LockFile))
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.finish(dir, secret)
}

// openLock opens the lock file.
func openLock(dir string, secret []byte) (*Store, error) {
	path := filepath.Join(dir, LockFile)
	text, _, err := readFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && secret == nil:
		return &Store{}, nil
	case missing:
		return nil, fmt.Errorf("%w: %s has no unlock secret: run `pinion unlock set` first, or start without --unlock", ErrUnlock, dir)
	case err != nil:
		return nil, err
	case secret == nil:
		return nil, fmt.Errorf("%w: %s needs an unlock secret: name it with --unlock file:PATH or --unlock ask", ErrUnlock, path)
	}
	with, err := age.NewScryptIdentity(string(secret))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnlock, err)
	}
	with.SetMaxWorkFactor(maxWorkFactor)
	clear, err := decrypt(text, with)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, fmt.Errorf("%w: %s does not open with this secret: give the one that was set on this host", ErrUnlock, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s is damaged (%w): put back a backup of it", ErrUnlock, path, err)
	}
	return parseLock(path, clear)
}

func parseLock(path string, text []byte) (*Store, error) {
	s := &Store{}
	parsed, err := age.ParseIdentities(bytes.NewReader(text))
	for _, identity := range parsed {
		if x, ok := identity.(*age.X25519Identity); ok {
			s.identities = append(s.identities, x)
		}
	}
	if err != nil || len(s.identities) == 0 || len(s.identities) > 2 {
		return nil, fmt.Errorf("%w: %s does not hold an identity: put back a backup of it", ErrUnlock, path)
	}
	return s, nil
}

// writeLock writes the lock file for a secret.
func (s *Store) writeLock(dir string, secret []byte) error {
	to, err := age.NewScryptRecipient(string(secret))
	if err != nil {
		return err
	}
	to.SetWorkFactor(workFactor)
	var text strings.Builder
	for _, identity := range s.identities {
		fmt.Fprintln(&text, identity)
	}
	locked, err := encrypt([]byte(text.String()), to)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, LockFile), locked, 0o600)
}

func checkSecret(secret []byte) error {
	if len(secret) < MinSecret || len(secret) > MaxSecret {
		return fmt.Errorf("an unlock secret has %d to %d bytes, not %d", MinSecret, MaxSecret, len(secret))
	}
	return nil
}

// Set encrypts the keys of a data directory with a secret, or goes on with that where it was cut short. Files that may tell keys in clear are
// removed: those that a crash left behind, and client.json, which the next start makes anew. ErrUnlock when the directory has another secret.
func Set(dir string, secret []byte) error {
	if err := checkSecret(secret); err != nil {
		return err
	}
	s, err := openOrCreateLock(dir, secret)
	if err != nil {
		return err
	}
	if err := s.rewrite(dir, s); err != nil {
		return err
	}
	return errors.Join(s.finish(dir, secret), removeLeftovers(dir))
}

func openOrCreateLock(dir string, secret []byte) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dir, LockFile)); !errors.Is(err, fs.ErrNotExist) {
		return openLock(dir, secret)
	}
	s, err := newStore()
	if err != nil {
		return nil, err
	}
	return s, s.writeLock(dir, secret)
}

func newStore() (*Store, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	return &Store{identities: []*age.X25519Identity{identity}}, nil
}

// Change replaces the secret, and what the files are encrypted with, so that a copy of the lock file and the old secret do not open
// what is written from now on. When it is cut short, one of the two secrets opens everything.
func Change(dir string, secret, to []byte) error {
	if err := checkSecret(to); err != nil {
		return err
	}
	before, err := Open(dir, secret)
	if err != nil {
		return err
	}
	if !before.Locked() {
		return fmt.Errorf("%w: %s has no unlock secret: run `pinion unlock set`", ErrUnlock, dir)
	}
	s, err := newStore()
	if err != nil {
		return err
	}
	s.identities = append(s.identities, before.identities...)
	if err := s.writeLock(dir, to); err != nil {
		return err
	}
	return s.finish(dir, to)
}

// Off writes the keys of a data directory in clear, and removes its lock.
func Off(dir string, secret []byte) error {
	s, err := openLock(dir, secret)
	if err != nil {
		return err
	}
	if err := s.rewrite(dir, &Store{}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, LockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(dir)
}

// finish ends a change of the secret: afterwards nothing is encrypted for the identity before it.
func (s *Store) finish(dir string, secret []byte) error {
	if len(s.identities) < 2 {
		return nil
	}
	if err := s.rewrite(dir, s); err != nil {
		return err
	}
	s.identities = s.identities[:1]
	return s.writeLock(dir, secret)
}

// rewrite writes every file as another store has it, in clear ones too.
func (s *Store) rewrite(dir string, as *Store) error {
	files, err := filesOf(dir)
	if err != nil {
		return err
	}
	for _, path := range files {
		text, encrypted, err := readFile(path)
		if err == nil && encrypted {
			text, err = s.decrypt(path, text)
		}
		if err == nil {
			err = as.Write(path, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeLeftovers removes what may tell keys in clear beside their files.
func removeLeftovers(dir string) error {
	paths := []string{filepath.Join(dir, "client.json")}
	for _, below := range []string{dir, filepath.Join(dir, "pki")} {
		found, err := filepath.Glob(filepath.Join(below, atomicfile.TempPrefix+"*"))
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a copy of keys: %w", err)
		}
	}
	return syncDir(dir)
}

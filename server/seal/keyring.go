// Package seal keeps secrets out of the state: what servers have to read again is sealed before it is recorded, with keys
// that are in a file of theirs and nowhere else. So neither the log nor a snapshot tells the secret.
package seal

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"pinion/packaging/keystore"
)

// File is the name of the file of the keyring in a data directory. It lies beside the log, so that it outlives a log that is put aside.
const File = "seal.key"

// keySize is AES-256's, in bytes.
const keySize = 32

// ErrNoKey is the error of Open for a secret that was sealed with a key that is not on the keyring.
var ErrNoKey = errors.New("it is sealed with a key that this server does not have")

// Keyring is the sealing keys of one server, in a file of mode 0600 that is written as soon as there is a key: one on each
// line, in hex, the newest last. It is safe for concurrent use.
type Keyring struct {
	path  string
	files *keystore.Store

	mu   sync.RWMutex
	keys []key
}

type key struct {
	name   string // the first 8 bytes of the SHA-256 of raw, in hex
	raw    []byte
	cipher cipher.AEAD
}

// Open reads the keyring at path with the files' store, of which nil has them in clear; without a file it is empty. A file that holds
// anything else is refused.
func Open(path string, files *keystore.Store) (*Keyring, error) {
	r := &Keyring{path: path, files: files}
	text, err := files.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sealing keys: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		raw, err := hex.DecodeString(lines.Text())
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("sealing keys: %s is damaged: each line is %d hex digits; put back the file of another server of the pool", path, 2*keySize)
		}
		r.keys = append(r.keys, newKey(raw))
	}
	return r, lines.Err()
}

func newKey(raw []byte) key {
	block, err := aes.NewCipher(raw)
	must(err)
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	must(err)
	return key{name: NameOf(raw), raw: raw, cipher: sealer}
}

// NameOf is the name of a key that Keys returned.
func NameOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// must is for errors that say only that a key has the wrong size.
func must(err error) {
	if err != nil {
		panic("seal: " + err.Error())
	}
}

// Has reports whether the key with this name is on the keyring.
func (r *Keyring) Has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.find(name) != nil
}

func (r *Keyring) find(name string) *key {
	for i := range r.keys {
		if r.keys[i].name == name {
			return &r.keys[i]
		}
	}
	return nil
}

// Keys are the keys themselves, for another server of the pool.
func (r *Keyring) Keys() [][]byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var raw [][]byte
	for _, k := range r.keys {
		raw = append(raw, bytes.Clone(k.raw))
	}
	return raw
}

// Add puts another server's keys on the keyring, before its own; those that are there already stay where they are.
func (r *Keyring) Add(raw ...[]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh []key
	for _, one := range raw {
		if len(one) != keySize {
			return fmt.Errorf("a sealing key has %d bytes, not %d", keySize, len(one))
		}
		if k := newKey(one); r.find(k.name) == nil {
			fresh = append(fresh, k)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return r.write(append(fresh, r.keys...))
}

// Drop empties the keyring and removes its file, as when this host stops being a server.
func (r *Keyring) Drop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the sealing keys: %w", err)
	}
	r.keys = nil
	return nil
}

// Seal seals a secret with the named key, or with the newest when none is named, which it makes when there is none. It opens only
// together with the same id, which says whose secret it is. ErrNoKey.
func (r *Keyring) Seal(id, secret, with string) (sealed []byte, name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 && with == "" {
		if _, err := r.generate(); err != nil {
			return nil, "", err
		}
	}
	var used *key
	if used = r.find(with); with == "" {
		used = &r.keys[len(r.keys)-1]
	}
	if used == nil {
		return nil, "", ErrNoKey
	}
	return used.cipher.Seal(nil, nil, []byte(secret), []byte(id)), used.name, nil
}

// Generate makes a key, the newest of all.
func (r *Keyring) Generate() (name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.generate()
}

func (r *Keyring) generate() (name string, err error) {
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw) // never fails: it ends the process instead
	fresh := newKey(raw)
	return fresh.name, r.write(append(slices.Clone(r.keys), fresh))
}

// Remove takes the named keys off the keyring and its file.
func (r *Keyring) Remove(names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(r.keys), func(k key) bool { return slices.Contains(names, k.name) })
	if len(left) == len(r.keys) {
		return nil
	}
	return r.write(left)
}

// Names are the names of the keys.
func (r *Keyring) Names() (names []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range r.keys {
		names = append(names, k.name)
	}
	return names
}

// Open is the secret that was sealed with the named key. ErrNoKey.
func (r *Keyring) Open(id string, sealed []byte, name string) (secret string, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k := r.find(name)
	if k == nil {
		return "", ErrNoKey
	}
	text, err := k.cipher.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return "", fmt.Errorf("what is sealed was changed: %w", err)
	}
	return string(text), nil
}

// write makes these keys the keyring, on disk first.
func (r *Keyring) write(keys []key) error {
	var text []byte
	for _, k := range keys {
		text = append(hex.AppendEncode(text, k.raw), '\n')
	}
	if err := r.files.Write(r.path, text); err != nil {
		return fmt.Errorf("write down the sealing keys: %w", err)
	}
	r.keys = slices.Clone(keys)
	return nil
}

package signature

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"aead.dev/minisign"
)

// PublicKey verifies signatures. The zero value verifies none.
type PublicKey struct{ key minisign.PublicKey }

// Keys are the keys whose signatures count.
type Keys []PublicKey

// String has the numbers of the keys.
func (k Keys) String() string {
	ids := make([]string, len(k))
	for i, key := range k {
		ids[i] = keyID(key.key.ID())
	}
	return strings.Join(ids, ", ")
}

// ParseKeys reads public keys as minisign writes them: each a line that begins with RW.
func ParseKeys(lines []string) (keys Keys, err error) {
	for _, line := range lines {
		var key PublicKey
		if err := key.key.UnmarshalText([]byte(strings.TrimSpace(line))); err != nil {
			return nil, fmt.Errorf("%q is no public key of minisign, which is the line that begins with RW in minisign.pub: %w", line, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// String is the line of the key, as ParseKeys reads it.
func (k PublicKey) String() string { return k.key.String() }

// PrivateKey makes signatures.
type PrivateKey struct{ key minisign.PrivateKey }

// ErrEncrypted means that a private key needs its password.
var ErrEncrypted = errors.New("the key is encrypted, and its password was not given")

// GenerateKey makes a new key.
func GenerateKey() (PrivateKey, error) {
	_, key, err := minisign.GenerateKey(nil)
	return PrivateKey{key}, err
}

// ReadPrivateKey reads the file of a private key, as `minisign -G` writes it. The password is that of an encrypted one, which is ErrEncrypted
// without it.
func ReadPrivateKey(path, password string) (PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return PrivateKey{}, err
	}
	var key PrivateKey
	switch encrypted := minisign.IsEncrypted(text); {
	case encrypted && password == "":
		err = ErrEncrypted
	case encrypted:
		key.key, err = minisign.DecryptKey(password, text)
	default:
		err = key.key.UnmarshalText(text)
	}
	if err != nil {
		return PrivateKey{}, fmt.Errorf("private key %s: %w", path, err)
	}
	return key, nil
}

// Public is the key that verifies the signatures of this one.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.key.Public().(minisign.PublicKey)} }

// MarshalText is the content of the file of the key, which is not encrypted.
func (k PrivateKey) MarshalText() ([]byte, error) { return k.key.MarshalText() }

// keyID is the number of a key as minisign prints it.
func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pinion/packaging/keystore"
)

// A host has one key for the lifetime of its data directory. The pool binds the host's id to the key, so it would reject a
// changed key as an impersonation. The certificates for the key change every few weeks.

// hostKey is this host's key: that of its certificate, also of one that has expired, or the one that it made to ask for
// its first, which is on disk before anybody sees it.
func (id *Identity) hostKey() (*ecdsa.PrivateKey, error) {
	if id.hostCert.key != nil {
		return id.hostCert.key, nil
	}
	if id.pendingKey != nil {
		return id.pendingKey, nil
	}
	path := id.file(pendingKeyFile)
	key, err := readKey(id.Keys, path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = createKey(id.Keys, path)
	}
	if err != nil {
		return nil, err
	}
	id.pendingKey = key
	return key, nil
}

func createKey(keys *keystore.Store, path string) (*ecdsa.PrivateKey, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	text, err := keyPEM(key)
	if err == nil {
		err = keys.Write(path, text)
	}
	if err != nil {
		return nil, fmt.Errorf("write down the key of this host: %w", err)
	}
	return key, nil
}

func readKey(keys *keystore.Store, path string) (*ecdsa.PrivateKey, error) {
	text, err := keys.Read(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyBlock {
		return nil, fmt.Errorf("%s does not hold a key: delete it and join again; if the pool has let this host in with it, "+
			"remove that host there first (`pinion hosts rm`)", path)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): delete it and join again; if the pool has let this host in with it, "+
			"remove that host there first (`pinion hosts rm`)", path, err)
	}
	return key, nil
}

// removeFile removes a file that may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear away a key that is not needed any more: %w", err)
	}
	return nil
}

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"pinion/server/store"
)

// pair is a certificate and its key. They live in one file, so that a crash never leaves one without the other.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (p pair) tls() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}

const certBlock, keyBlock = "CERTIFICATE", "EC PRIVATE KEY"

// write replaces the file by this pair, readable by root alone.
func (p pair) write(path string) error {
	key, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: p.cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key})...)
	if err := store.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// publish writes the certificate alone, if the file does not hold it already. It is no secret: users who are not root
// need it to trust this pool.
func publish(path string, p pair) error {
	text := pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: p.cert.Raw})
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := store.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readPair reads what write wrote. An error that is fs.ErrNotExist when there is no file.
func readPair(path string) (pair, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return pair{}, err
	}
	p, err := parsePair(text)
	if err != nil {
		return pair{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return p, nil
}

func parsePair(text []byte) (p pair, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case certBlock:
			p.cert, err = x509.ParseCertificate(block.Bytes)
		case keyBlock:
			p.key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return pair{}, err
		}
	}
	if p.cert == nil || p.key == nil {
		return pair{}, errors.New("it does not hold a certificate and a key")
	}
	if !p.key.PublicKey.Equal(p.cert.PublicKey) {
		return pair{}, errors.New("the key does not belong to the certificate")
	}
	return p, nil
}

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"pinion/packaging/keystore"
)

// certKeyPair is a certificate and its key. They live in one file, so that a crash never leaves one without the other.
type certKeyPair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// tlsCertificate is what is shown of a host's certificate, with others behind it.
func (p certKeyPair) tlsCertificate(behind []*x509.Certificate) *tls.Certificate {
	shown := [][]byte{p.cert.Raw}
	for _, cert := range behind {
		shown = append(shown, cert.Raw)
	}
	return &tls.Certificate{Certificate: shown, PrivateKey: p.key, Leaf: p.cert}
}

// isIssuedBy reports whether a certificate names a CA as the one that signed it.
func isIssuedBy(cert, ca *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, ca.RawSubject) && bytes.Equal(cert.AuthorityKeyId, ca.SubjectKeyId)
}

const certBlock, keyBlock, requestBlock = "CERTIFICATE", "EC PRIVATE KEY", "CERTIFICATE REQUEST"

func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: cert.Raw})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: raw}), nil
}

// write replaces the file by this pair, readable by root alone.
func (p certKeyPair) write(keys *keystore.Store, path string) error {
	key, err := keyPEM(p.key)
	if err == nil {
		err = keys.Write(path, append(certPEM(p.cert), key...))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readPair reads what write wrote. An error that is fs.ErrNotExist when there is no file.
func readPair(keys *keystore.Store, path string) (certKeyPair, error) {
	text, err := keys.Read(path)
	if err != nil {
		return certKeyPair{}, err
	}
	p, err := parsePair(text)
	if err != nil {
		return certKeyPair{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return p, nil
}

func parsePair(text []byte) (p certKeyPair, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case certBlock:
			p.cert, err = x509.ParseCertificate(block.Bytes)
		case keyBlock:
			p.key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return certKeyPair{}, err
		}
	}
	if p.cert == nil || p.key == nil {
		return certKeyPair{}, errors.New("it does not hold a certificate and a key")
	}
	if !p.key.PublicKey.Equal(p.cert.PublicKey) {
		return certKeyPair{}, errors.New("the key does not belong to the certificate")
	}
	return p, nil
}

func parseCert(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != certBlock {
		return nil, errors.New("it does not hold a certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

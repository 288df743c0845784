package admission

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// acmeSkew is how far the clock of a CA may be ahead of that of the leader.
	acmeSkew = 5 * time.Minute
	// acmeRenewal is when hosts renew certificates: autocert begins this long before the end, or a third of the life, whichever is shorter.
	acmeRenewal = 30 * 24 * time.Hour
	// acmeRenewalSkew is how much earlier a certificate may be replaced, for hosts whose clocks are ahead.
	acmeRenewalSkew = time.Hour
)

// errACMEValue refuses a value that is not what hosts share under its key.
var errACMEValue = errors.New("the pool does not keep it")

// acmeIdentifier is the extension by which an answer to a challenge is known (RFC 8737): no client takes such a certificate for that of a site.
var acmeIdentifier = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}

// newACMEAccount makes the key of an account.
func newACMEAccount() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return encodeACMEValue(key, nil)
}

// isACMEAccount reports whether a value is the key of an account as newACMEAccount writes it.
func isACMEAccount(value []byte) bool {
	_, chain, err := decodeACMEValue(value)
	return err == nil && len(chain) == 0
}

// encodeACMEValue writes a key with its certificates as autocert does.
func encodeACMEValue(key *ecdsa.PrivateKey, chain []*x509.Certificate) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	value := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	for _, c := range chain {
		value = append(value, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return value, nil
}

// decodeACMEValue reads a value that encodeACMEValue could have written, and no other: nothing else fits into an entry.
func decodeACMEValue(value []byte) (key *ecdsa.PrivateKey, chain []*x509.Certificate, err error) {
	block, rest := pem.Decode(value)
	if block == nil {
		return nil, nil, fmt.Errorf("%w: it is no key in PEM", errACMEValue)
	}
	if key, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
		return nil, nil, fmt.Errorf("%w: it has no ECDSA key: %w", errACMEValue, err)
	}
	for block, rest = pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: it has a certificate that cannot be read: %w", errACMEValue, err)
		}
		chain = append(chain, certificate)
	}
	if again, err := encodeACMEValue(key, chain); err != nil || !bytes.Equal(again, value) {
		return nil, nil, fmt.Errorf("%w: it has more than an ECDSA key and certificates", errACMEValue)
	}
	return key, chain, nil
}

// checkACMECertificate reads the certificate of a name, or with isAnswer the answer to a challenge for it. It refuses one that hosts could not show, or
// that no CA has given.
func checkACMECertificate(value []byte, name string, isAnswer bool, now time.Time) (*x509.Certificate, error) {
	key, chain, err := decodeACMEValue(value)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("%w: it has no certificate", errACMEValue)
	}
	leaf := chain[0]
	if !key.PublicKey.Equal(leaf.PublicKey) {
		return nil, fmt.Errorf("%w: its certificate is for another key", errACMEValue)
	}
	if err := leaf.VerifyHostname(name); err != nil {
		return nil, fmt.Errorf("%w: %w", errACMEValue, err)
	}
	answers := slices.ContainsFunc(leaf.UnhandledCriticalExtensions, acmeIdentifier.Equal)
	switch selfSigned := leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil; {
	case now.Add(acmeSkew).Before(leaf.NotBefore):
		return nil, fmt.Errorf("%w: its certificate is not valid before %s", errACMEValue, leaf.NotBefore.Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("%w: its certificate has expired at %s", errACMEValue, leaf.NotAfter.Format(time.RFC3339))
	case isAnswer && !answers:
		return nil, fmt.Errorf("%w: it answers no challenge (RFC 8737)", errACMEValue)
	case !isAnswer && (selfSigned || answers):
		return nil, fmt.Errorf("%w: its certificate is from no CA, its own key has signed it", errACMEValue)
	}
	return leaf, nil
}

// renewalOf is from when on a certificate may be replaced.
func renewalOf(leaf *x509.Certificate) time.Time {
	return leaf.NotAfter.Add(-min(leaf.NotAfter.Sub(leaf.NotBefore)/3, acmeRenewal) - acmeRenewalSkew)
}

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

const (
	hostCertLifetime = 30 * 24 * time.Hour
	// clockSkew is how far behind another machine's clock may be and still take a new certificate.
	clockSkew = time.Hour
)

// Sign gives a host its certificate (PEM): as a server and as a client of other hosts, for 30 days. The request (PEM)
// proves that its sender has the key; which host that is, the caller knows and the request is not asked. names are the
// DNS names and IP addresses of the host; nil takes those that the request asks for.
func Sign(authority spec.CA, csr []byte, hostID string, names []string, now time.Time) (cert []byte, err error) {
	ca, err := parseCA(authority)
	if err != nil {
		return nil, err
	}
	request, err := parseRequest(csr)
	if err != nil {
		return nil, fmt.Errorf("the certificate request of host %s: %w", hostID, err)
	}
	if names == nil {
		names = joinNames(request.DNSNames, request.IPAddresses)
	}
	issued, err := issueCert(ca, request.PublicKey.(*ecdsa.PublicKey), hostID, withLocal(names), now)
	if err != nil {
		return nil, err
	}
	return certPEM(issued), nil
}

func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != requestBlock {
		return nil, errors.New("it is not a certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	if key, ok := request.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("its key is not of the kind P-256")
	}
	for _, name := range request.DNSNames {
		if strings.Contains(name, "*") {
			return nil, fmt.Errorf("%q is not the name of one host", name)
		}
	}
	return request, request.CheckSignature()
}

// issueCert makes the certificate for a key.
func issueCert(ca certKeyPair, key *ecdsa.PublicKey, hostID string, names []string, now time.Time) (*x509.Certificate, error) {
	if err := checkHostID(hostID); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hostID},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(hostCertLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{uriOf(hostID)},
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	template.DNSNames, template.IPAddresses = splitNames(names)
	cert, err := createCert(template, ca, key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", names, err)
	}
	return cert, nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// selfSign makes a key and a certificate for it that is signed by itself.
func selfSign(template *x509.Certificate) (certKeyPair, error) {
	key, err := newKey()
	if err != nil {
		return certKeyPair{}, err
	}
	cert, err := createCert(template, certKeyPair{cert: template, key: key}, &key.PublicKey)
	return certKeyPair{cert: cert, key: key}, err
}

func createCert(template *x509.Certificate, by certKeyPair, key *ecdsa.PublicKey) (cert *x509.Certificate, err error) {
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, by.cert, key, by.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

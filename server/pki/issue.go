package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"

	"pinion/raftfsm/lazyregexp"
)

// hostName is the form of a DNS name, loose enough for machines that people have named.
var hostName = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)

const (
	hostCertLifetime = 30 * 24 * time.Hour
	// clockSkew is how far behind another machine's clock may be and still take a new certificate.
	clockSkew = time.Hour
)

// Sign gives a host its certificate (PEM): as a server and as a client of other hosts, for 30 days. The request (PEM)
// proves that its sender has the key; which host that is, the caller knows and the request is not asked. It has
// all the names that the request asks for.
func Sign(authority CA, csr []byte, hostID string, now time.Time) (cert []byte, err error) {
	return sign(authority, csr, hostID, func(string) bool { return true }, now)
}

// SignNames is Sign for a host that may have these DNS names and IP addresses, and no others beside those that every host has.
func SignNames(authority CA, csr []byte, hostID string, names []string, now time.Time) (cert []byte, err error) {
	return sign(authority, csr, hostID, func(name string) bool { return slices.Contains(names, name) }, now)
}

func sign(authority CA, csr []byte, hostID string, allowed func(name string) bool, now time.Time) (cert []byte, err error) {
	ca, err := parseCA(authority)
	if err != nil {
		return nil, err
	}
	request, err := parseRequest(csr)
	if err != nil {
		return nil, fmt.Errorf("the certificate request of host %s: %w", hostID, err)
	}
	names := slices.DeleteFunc(joinNames(request.DNSNames, request.IPAddresses), func(name string) bool { return !allowed(name) })
	issued, err := issueCert(ca, request.PublicKey.(*ecdsa.PublicKey), hostID, withLocal(names), now)
	if err != nil {
		return nil, err
	}
	return certPEM(issued), nil
}

// The most that a request may ask for.
const (
	maxNames     = 32
	maxNameBytes = 253
)

// Request is what a host asks a certificate for.
type Request struct {
	PublicKeyHash string   // hex SHA-256 of the public key (SubjectPublicKeyInfo, DER)
	Names         []string // DNS names and IP addresses, sorted
}

// ReadRequest reads a certificate request (PEM), whose sender has the key.
func ReadRequest(csr []byte) (Request, error) {
	parsed, err := parseRequest(csr)
	if err != nil {
		return Request{}, fmt.Errorf("the certificate request: %w", err)
	}
	return Request{PublicKeyHash: publicKeyHash(parsed.RawSubjectPublicKeyInfo), Names: joinNames(parsed.DNSNames, parsed.IPAddresses)}, nil
}

// PublicKeyHash is the hash of a certificate's key, in the form of Request.
func PublicKeyHash(cert *x509.Certificate) string { return publicKeyHash(cert.RawSubjectPublicKeyInfo) }

func publicKeyHash(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
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
	if asked := len(request.DNSNames) + len(request.IPAddresses); asked > maxNames {
		return nil, fmt.Errorf("it asks for %d names, at most %d are signed", asked, maxNames)
	}
	for _, name := range request.DNSNames {
		if !hostName.MatchString(name) || len(name) > maxNameBytes {
			return nil, fmt.Errorf("%.260q is not the name of one host", name)
		}
	}
	return request, request.CheckSignature()
}

// issueCert makes the certificate for a key.
func issueCert(ca certKeyPair, key *ecdsa.PublicKey, hostID string, names []string, now time.Time) (*x509.Certificate, error) {
	if err := checkHostID(hostID); err != nil {
		return nil, err
	}
	if err := checkConstraints(ca.cert, names); err != nil {
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

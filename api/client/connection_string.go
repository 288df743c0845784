package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// DefaultPort is the TLS port of a host that was started without another.
const DefaultPort = "7400"

// Address is the host:port of a host that people name as HOST, HOST:PORT or https://HOST[:PORT].
func Address(given string) (string, error) {
	address := strings.TrimSuffix(strings.TrimPrefix(given, "https://"), "/")
	if host, port, err := net.SplitHostPort(address); err == nil && host != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			return address, nil
		}
	}
	host := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	if host == "" || strings.ContainsAny(host, "/ @?#[]") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("host %q is not HOST[:PORT], such as gpu1.example.com:7400", given)
	}
	return net.JoinHostPort(host, DefaultPort), nil
}

// ConnectionString is all that a client needs of a pool: the address of a host, the CA that its certificate is of, and an
// access key. Its text is a secret.
type ConnectionString struct {
	Host   string // host:port
	CA     string // SHA-256 of the CA's certificate, in hex
	KeyID  string
	Secret string
}

const (
	// ConnectionScheme begins the text of every connection string.
	ConnectionScheme = "pinion://"
	pinPrefix        = "sha256:"
)

// String is pinion://KEY:SECRET@HOST:PORT?ca=sha256:FINGERPRINT.
func (s ConnectionString) String() string {
	return ConnectionScheme + url.UserPassword(s.KeyID, s.Secret).String() + "@" + s.Host + "?ca=" + pinPrefix + s.CA
}

// ParseConnectionString reads the text of a connection string. Its errors do not repeat the text, which has a secret in it.
func ParseConnectionString(text string) (ConnectionString, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme+"://" != ConnectionScheme || u.User == nil || u.Path != "" {
		return ConnectionString{}, errors.New("this is not a connection string, pinion://KEY:SECRET@HOST:PORT?ca=sha256:...: copy the whole of what `pinion key create` prints")
	}
	s := ConnectionString{KeyID: u.User.Username()}
	s.Secret, _ = u.User.Password()
	pin, pinned := strings.CutPrefix(u.Query().Get("ca"), pinPrefix)
	if digest, err := hex.DecodeString(pin); !pinned || err != nil || len(digest) != sha256.Size {
		return s, errors.New("the connection string does not name the pool's CA as ca=sha256: and 64 hex digits: copy the whole of it")
	}
	if s.KeyID == "" || s.Secret == "" {
		return s, errors.New("the connection string has no access key with its secret: copy the whole of it")
	}
	s.CA = strings.ToLower(pin)
	s.Host, err = Address(u.Host)
	return s, err
}

// ErrOtherCA is wrapped by the error of a host that is not of the pool whose CA was asked for.
var ErrOtherCA = errors.New("another CA")

// PinnedCA asks a host for the certificate (PEM) of its CA, which has to have the fingerprint. Before that is known, and that the
// host's own certificate is of that CA and for its name, the host is sent nothing.
func PinnedCA(ctx context.Context, host, fingerprint string) ([]byte, error) {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: connectTimeout}, Config: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: name,
		InsecureSkipVerify: true, // by the CAs of the system: VerifyConnection verifies by the fingerprint
		VerifyConnection:   func(state tls.ConnectionState) error { return verifyPinned(state.PeerCertificates, name, fingerprint) },
	}}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		if errors.Is(err, ErrOtherCA) {
			return nil, fmt.Errorf("%s is not a host of this connection string's pool, or the pool's CA was rotated since: nothing was sent to it. Ask for another string (`pinion key create`): %w", host, err)
		}
		return nil, (&transport{config: Config{Host: host}}).connectionError(err)
	}
	defer conn.Close()
	authority := pinned(conn.(*tls.Conn).ConnectionState().PeerCertificates, fingerprint)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}), nil
}

// pinned is the certificate with the fingerprint, nil when none has it.
func pinned(certificates []*x509.Certificate, fingerprint string) *x509.Certificate {
	for _, certificate := range certificates {
		if digest := sha256.Sum256(certificate.Raw); hex.EncodeToString(digest[:]) == fingerprint {
			return certificate
		}
	}
	return nil
}

func verifyPinned(shown []*x509.Certificate, name, fingerprint string) error {
	authority := pinned(shown, fingerprint)
	if authority == nil || !authority.IsCA {
		return fmt.Errorf("%w: no certificate of it has the fingerprint %.16s", ErrOtherCA, fingerprint)
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	_, err := shown[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
	if _, wrong := errors.AsType[x509.UnknownAuthorityError](err); wrong {
		return fmt.Errorf("%w: the host's certificate is not signed by it", ErrOtherCA)
	}
	return err
}

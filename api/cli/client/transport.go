package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const connectTimeout = 10 * time.Second

func socketTransport(path string) *http.Transport {
	dialer := net.Dialer{Timeout: connectTimeout}
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}}
}

// tlsTransport goes to the host directly: the machines are the user's own, proxies of the environment are for elsewhere.
func tlsTransport(caFile string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w. Copy the one that `pinion env` on the host names", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no certificate in PEM form. Copy the one that `pinion env` on the host names", caFile)
		}
	}
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		TLSClientConfig:     config,
	}, nil
}

// sign adds a SigV4 signature of the service "ecs" to the request. A number of its own makes that differ from the one of
// an equal request in the same second, which the host would take for a copy.
func (c *Client) sign(ctx context.Context, request *http.Request, body []byte, now time.Time) error {
	request.Header.Set("Amz-Sdk-Invocation-Id", rand.Text())
	digest := sha256.Sum256(body)
	key := aws.Credentials{AccessKeyID: c.config.KeyID, SecretAccessKey: c.config.Secret}
	err := v4.NewSigner().SignHTTP(ctx, key, request, hex.EncodeToString(digest[:]), "ecs", c.config.Region, now)
	if err != nil {
		return fmt.Errorf("sign the request with access key %s: %w", c.config.KeyID, err)
	}
	return nil
}

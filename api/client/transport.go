package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const connectTimeout = 10 * time.Second

// transport sends HTTP requests to one host: it signs them, and turns every answer but success into an error.
type transport struct {
	config Config
	http   *http.Client
	base   string // "https://host:port", or "http://pinion" over the socket

	unknown atomic.Bool // the pool does not know the key, and Config.Unknown was told
}

// noRedirect has no answer send a request elsewhere: hosts answer by themselves, and a request is signed for one of them.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// get sends a GET request; the caller closes the body of the response.
func (t *transport) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return t.do(ctx, http.MethodGet, path, http.Header{}, nil)
}

// read reads a document as it is.
func (t *transport) read(ctx context.Context, path string, query url.Values) (http.Header, []byte, error) {
	response, err := t.get(ctx, path, query)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the answer was cut off: %w", path, err)
	}
	return response.Header, body, nil
}

// versionPath is of a document that any caller gets, with less in it for a key that the host does not know.
const versionPath = "/v1/version"

// do sends one request, and returns an error unless the host answers with success.
func (t *transport) do(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	if t.config.KeyID == "" || t.unknown.Load() || t.config.Host == "" && path == versionPath {
		return t.send(ctx, method, path, header, body, false)
	}
	response, err := t.send(ctx, method, path, header.Clone(), body, true)
	if t.config.Host != "" || t.config.Unknown == nil || !isUnknownKey(err) {
		return response, err
	}
	if t.unknown.CompareAndSwap(false, true) {
		t.config.Unknown()
	}
	return t.send(ctx, method, path, header, body, false)
}

// isUnknownKey reports whether a host has refused a request because the pool has no such access key.
func isUnknownKey(err error) bool {
	refused, is := errors.AsType[*APIError](err)
	return is && refused.Type == "UnrecognizedClientException"
}

// send sends one request, signed or not; do decides which.
func (t *transport) send(ctx context.Context, method, path string, header http.Header, body []byte, signed bool) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	request.Header = header
	request.Header.Set("User-Agent", "pinion")
	if signed {
		if err := t.sign(ctx, request, body, time.Now()); err != nil {
			return nil, err
		}
	}
	return t.answerOf(request)
}

// answerOf sends a request, and returns an error unless the host answers with success.
func (t *transport) answerOf(request *http.Request) (*http.Response, error) {
	response, err := t.http.Do(request)
	if err != nil {
		return nil, t.connectionError(err)
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		return nil, readAPIError(response)
	}
	return response, nil
}

// socketTransport connects to a host on this machine, where compression costs more than it saves.
func socketTransport(path string) *http.Transport {
	dialer := net.Dialer{Timeout: connectTimeout}
	return &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}}
}

// tlsTransport connects to the host directly, never through a proxy of the environment: hosts are the user's own machines.
func tlsTransport(host Config) (*http.Transport, error) {
	config, pem := &tls.Config{MinVersion: tls.VersionTLS12}, host.CA
	if host.CAFile != "" {
		var err error
		if pem, err = os.ReadFile(host.CAFile); err != nil {
			return nil, fmt.Errorf("CA file: %w. Copy the one that `pinion env` on the host names", err)
		}
	}
	if host.CAFile != "" || pem != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no certificate in PEM form. Copy the one that `pinion env` on the host names", host.CAFile)
		}
	}
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		TLSClientConfig:     config,
	}, nil
}

// sign adds a SigV4 signature of the service "ecs" to the request. A random invocation id makes equal requests of one
// second differ, which the host would otherwise refuse as replays.
func (t *transport) sign(ctx context.Context, request *http.Request, body []byte, now time.Time) error {
	sum := sha256.Sum256(body)
	return t.signSum(ctx, request, hex.EncodeToString(sum[:]), now)
}

// signSum is sign for a body with that SHA-256, in hexadecimal digits.
func (t *transport) signSum(ctx context.Context, request *http.Request, sum string, now time.Time) error {
	request.Header.Set("Amz-Sdk-Invocation-Id", rand.Text())
	key := aws.Credentials{AccessKeyID: t.config.KeyID, SecretAccessKey: t.config.Secret}
	err := v4.NewSigner().SignHTTP(ctx, key, request, sum, "ecs", t.config.Region, now)
	if err != nil {
		return fmt.Errorf("sign the request with access key %s: %w", t.config.KeyID, err)
	}
	return nil
}

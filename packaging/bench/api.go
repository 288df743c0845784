package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/auth/sigv4"
)

// measureAPI measures how fast questions are answered: by a host that is alone, by one that passes them on, and about
// many tasks.
func measureAPI(ctx context.Context, o options) (figures []figure, err error) {
	for _, measure := range []func(context.Context, options) ([]figure, error){measureSignature, measurePaging, measureOneHost, measureFollower} {
		more, err := measure(ctx, o)
		figures = append(figures, more...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// measureSignature times the check of one signature, beside the signer's own work.
func measureSignature(ctx context.Context, o options) ([]figure, error) {
	const each = 100 // of one sample, since one alone is shorter than what the clock costs
	key := credentials{KeyID: "AKIAABCDEFGHIJKLMNOP", Secret: "secret", Endpoint: "https://127.0.0.1:7400"}
	body := []byte(`{"cluster":"default","tasks":["00000000000000000000000000000001"]}`)
	verifier := sigv4.Verifier{Service: "ecs", Now: time.Now, Signers: new(sigv4.SignerCache)}
	lookup := func(string) (string, bool) { return key.Secret, true }
	var checks, signs []time.Duration
	for range o.rounds {
		begin := time.Now()
		var request *http.Request
		for range each {
			var err error
			if request, err = key.sign(ctx, "DescribeTasks", body); err != nil {
				return nil, err
			}
		}
		signs = append(signs, time.Since(begin)/each)
		begin = time.Now()
		for range each {
			if _, err := verifier.Verify(request, body, lookup); err != nil {
				return nil, err
			}
		}
		checks = append(checks, time.Since(begin)/each)
	}
	return []figure{{"check of one signature, p50", µs(median(checks)), "signing it " + µs(median(signs)), "at most 40 µs"}}, nil
}

func µs(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1000) }

// credentials are client.json, which a host writes for those on its machine.
type credentials struct {
	Endpoint string `json:"endpoint"`
	KeyID    string `json:"accessKeyId"`
	Secret   string `json:"secretAccessKey"`
	CAFile   string `json:"caFile"`
}

func readCredentials(dir string) (c credentials, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "client.json"))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(raw, &c)
}

// request makes a request of the AWS door that is not signed yet.
func (c credentials) request(ctx context.Context, operation string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, "POST", c.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113."+operation)
	return request, nil
}

// sign makes a signed request of the AWS door.
func (c credentials) sign(ctx context.Context, operation string, body []byte) (*http.Request, error) {
	request, err := c.request(ctx, operation, body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return request, v4.NewSigner().SignHTTP(ctx, c.aws(), request, hex.EncodeToString(sum[:]), "ecs", "us-east-1", time.Now())
}

func (c credentials) aws() aws.Credentials {
	return aws.Credentials{AccessKeyID: c.KeyID, SecretAccessKey: c.Secret}
}

// tls trusts the host's own authority.
func (c credentials) tls() (*tls.Config, error) {
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", c.CAFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

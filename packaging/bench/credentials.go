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
)

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

// request makes a request of the AWS API that is not signed yet.
func (c credentials) request(ctx context.Context, operation string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, "POST", c.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113."+operation)
	return request, nil
}

// sign makes a signed request of the AWS API.
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

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// envMap is the environment that `pinion env` makes, by name.
func (h *host) envMap(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pair := range h.env(t) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

func tlsClient(t testing.TB, caFile string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("%s holds no certificate", caFile)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func checkWrongClock(t *testing.T, h *host) {
	s := h.envMap(t)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s["AWS_ENDPOINT_URL_ECS"]+"/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.ListClusters")
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	const hashOfBraces = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	key := aws.Credentials{AccessKeyID: s["AWS_ACCESS_KEY_ID"], SecretAccessKey: s["AWS_SECRET_ACCESS_KEY"]}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, request, hashOfBraces, "ecs", s["AWS_REGION"], time.Now().Add(-20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	response, err := tlsClient(t, s["AWS_CA_BUNDLE"]).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 4 || !strings.Contains(response.Header.Get("X-Amzn-ErrorType"), "InvalidSignatureException") {
		t.Errorf("%s %v", response.Status, response.Header)
	}
}

package many

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"pinion/packaging/testbed"
)

// requestTimeout is longer than a host may take to answer: a client that gave up earlier could ask again while its
// first request is still on its way.
const requestTimeout = 40 * time.Second

// ecsClient is Amazon's own client, with its own retries, for one host's TLS port. It stands outside of all hosts.
func (p *pool) ecsClient(t testing.TB, h *testbed.Host) *ecs.Client {
	t.Helper()
	text, err := h.Pinion("env", "-o", "json")
	must(t, err)
	var env map[string]*string
	must(t, json.Unmarshal([]byte(text), &env))
	authority, err := os.ReadFile(*env["AWS_CA_BUNDLE"])
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatalf("no certificate in %s", *env["AWS_CA_BUNDLE"])
	}
	return p.ecsClientBy(t, h, roots, false)
}

// ecsClientBy is ecsClient for whoever knows the pool by these roots; each of its requests may be a connection of its own.
func (p *pool) ecsClientBy(t testing.TB, h *testbed.Host, roots *x509.CertPool, each bool) *ecs.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: p.Dial, TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: *clients, ForceAttemptHTTP2: true, DisableKeepAlives: each,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return ecs.New(ecs.Options{
		Region: "us-east-1", BaseEndpoint: sdk.String("https://" + h.Address()),
		Credentials: credentials.NewStaticCredentialsProvider(p.key.ID, p.key.Secret, ""),
		HTTPClient:  &http.Client{Transport: transport, Timeout: requestTimeout},
	})
}

// ecsClients are one for each host.
func (p *pool) ecsClients(t testing.TB) (all []*ecs.Client) {
	t.Helper()
	for _, h := range p.Hosts() {
		all = append(all, p.ecsClient(t, h))
	}
	return all
}

// runTask asks for one named task. The name is its client token, so that asking again is answered with the first answer.
func runTask(ctx context.Context, client *ecs.Client, family, name string) (*ecs.RunTaskOutput, error) {
	return client.RunTask(ctx, &ecs.RunTaskInput{
		TaskDefinition: &family, ClientToken: &name, StartedBy: &name,
		Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{
			Name: sdk.String("main"), Environment: []types.KeyValuePair{{Name: sdk.String("ME"), Value: &name}},
		}}},
	})
}

package api

import (
	"net/http"
	"strings"
	"testing"
)

// What people get wrong about services and their traffic, and the answer that tells them.
func TestBadInputAboutServicesIsAnsweredClearly(t *testing.T) {
	b := newFixture(t)
	ecs := func(operation, body string) *http.Request { return awsRequest(operation, body) }
	listener := func(port, protocol string, more ...string) *http.Request {
		return balancing("CreateListener", append([]string{"LoadBalancerArn", loadBalancerARN(t, b), "Port", port, "Protocol", protocol,
			"DefaultActions.member.1.Type", "fixed-response", "DefaultActions.member.1.FixedResponseConfig.StatusCode", "404"}, more...)...)
	}
	certificate := func(arn string) []string { return []string{"Certificates.member.1.CertificateArn", arn} }
	for _, c := range []struct {
		name   string
		asked  *http.Request
		status int
		says   string
	}{
		{"a definition", ecs("RegisterTaskDefinition", definitionOfTest), 200, "web:1"},
		{"one that no host could run", ecs("RegisterTaskDefinition", `{"family":"huge","containerDefinitions":[{"name":"main","image":"x","memory":99999999}]}`), 200, "huge:1"},
		{"a service", ecs("CreateService", `{"serviceName":"web","taskDefinition":"web","desiredCount":1}`), 200, "ACTIVE"},
		{"the same again", ecs("CreateService", `{"serviceName":"web","taskDefinition":"web","desiredCount":1}`), 200, "ACTIVE"},
		{"another of its name", ecs("CreateService", `{"serviceName":"web","taskDefinition":"web","desiredCount":2}`), 400, "Creation of service was not idempotent."},
		{"one that no host could run: its events say so", ecs("CreateService", `{"serviceName":"huge","taskDefinition":"huge","desiredCount":1}`), 200, "ACTIVE"},
		{"a DAEMON with a count", ecs("CreateService", `{"serviceName":"d","taskDefinition":"web","desiredCount":1,"schedulingStrategy":"DAEMON"}`), 400, "does not support a desired count"},
		{"a definition that is not there", ecs("CreateService", `{"serviceName":"d","taskDefinition":"none","desiredCount":1}`), 400, "TaskDefinition not found."},
		{"a group that is not there", ecs("CreateService", `{"serviceName":"d","taskDefinition":"web","desiredCount":1,"loadBalancers":[{"targetGroupArn":"arn:aws:elasticloadbalancing:us-east-1:000000000000:targetgroup/a/b","containerName":"main","containerPort":80}]}`), 400, "target group"},
		{"a rollout that can go neither way", ecs("UpdateService", `{"service":"web","deploymentConfiguration":{"minimumHealthyPercent":100,"maximumPercent":100}}`), 400, "will block deployments"},
		{"a negative count", ecs("UpdateService", `{"service":"web","desiredCount":-1}`), 400, "desiredCount must be between 0 and 5000"},
		{"a listener", listener("8080", "HTTP"), 200, "<Port>8080</Port>"},
		{"a second listener on its port", listener("8080", "HTTP"), 400, "DuplicateListener"},
		{"a port that is none", listener("65536", "HTTP"), 400, "65535"},
		{"HTTPS without a certificate", listener("8443", "HTTPS"), 400, "ertificate"},
		{"HTTP with one", listener("8081", "HTTP", certificate("arn:aws:acm:us-east-1:000000000000:certificate/example.org")...), 400, "no certificate"},
		{"a certificate that is no name", listener("8443", "HTTPS", certificate("../../etc/passwd")...), 400, "CertificateNotFound"},
	} {
		if got := b.serve(c.asked); got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
	}
}

// loadBalancerARN is that of the load balancer front, which is made when it is not there.
func loadBalancerARN(t *testing.T, b *fixture) string {
	t.Helper()
	got := b.serve(balancing("CreateLoadBalancer", "Name", "front"))
	_, rest, found := strings.Cut(got.Body.String(), "<LoadBalancerArn>")
	arn, _, _ := strings.Cut(rest, "<")
	if !found {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	return arn
}

package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// newBalancer makes a load balancer whose listener divides its traffic between two target groups, and returns their ARNs as blue and green, and the
// listener's.
func (s *testPool) newBalancer(t *testing.T, name string) map[string]string {
	t.Helper()
	group := func(color string) string {
		return s.balancing(t, "CreateTargetGroup", "TargetGroupArn", "Name", name+"-"+color, "Protocol", "HTTP", "Port", "80", "VpcId", "vpc-1")
	}
	arns := map[string]string{"blue": group("blue"), "green": group("green")}
	front := s.balancing(t, "CreateLoadBalancer", "LoadBalancerArn", "Name", name, "Subnets.member.1", "subnet-1", "Subnets.member.2", "subnet-2")
	const forwards = "DefaultActions.member.1.ForwardConfig.TargetGroups.member."
	s.listeners++
	arns["listener"] = s.balancing(t, "CreateListener", "ListenerArn", "LoadBalancerArn", front, "Protocol", "HTTP", "Port", fmt.Sprint(18100+s.listeners),
		"DefaultActions.member.1.Type", "forward", forwards+"1.TargetGroupArn", arns["blue"], forwards+"1.Weight", "100",
		forwards+"2.TargetGroupArn", arns["green"], forwards+"2.Weight", "0")
	return arns
}

// balancing makes a call of Elastic Load Balancing with parameters, each a name and a value, and returns a text of the answer by its element.
func (s *testPool) balancing(t *testing.T, action, element string, parameters ...string) string {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2015-12-01"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	body := form.Encode()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.env["AWS_ENDPOINT_URL_ECS"]+"/", strings.NewReader(body))
	must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: s.env["AWS_ACCESS_KEY_ID"], SecretAccessKey: s.env["AWS_SECRET_ACCESS_KEY"]}
	must(t, v4.NewSigner().SignHTTP(t.Context(), key, request, hex.EncodeToString(sum[:]), "elasticloadbalancing", s.env["AWS_REGION"], time.Now()))
	response, err := s.http.Do(request)
	must(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(t, err)
	text := regexp.MustCompile("<" + element + ">([^<]+)<").FindSubmatch(answer)
	if text == nil {
		t.Fatalf("%s answers %s, without %s:\n%s", action, response.Status, element, answer)
	}
	return string(text[1])
}

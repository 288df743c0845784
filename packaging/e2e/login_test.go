package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/openid/openidtest"
)

// A person who has logged in works with the AWS CLI by a profile alone: it asks pinion for the key.
func TestAPersonLogsInAndUsesTheAWSCLI(t *testing.T) {
	h, idp, home := sharedHost(t), openidtest.New(t), t.TempDir()
	h.pinion(t, "oidc", "set", "--issuer", idp.URL, "--client-id", openidtest.ClientID)
	t.Cleanup(func() { h.pinion(t, "oidc", "rm") })
	h.pinion(t, "oidc", "map", "--role", "read", "everybody")
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "everybody"})

	as := func(script string) (string, error) {
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=" + home, "AWS_PROFILE=pinion", "AWS_PAGER="}
		return output(cmd)
	}
	ca := h.envMap(t)["AWS_CA_BUNDLE"]
	if out, err := as(fmt.Sprintf("pinion login --host %s --ca %s", h.listen, ca)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	profile := fmt.Sprintf(`[profile pinion]
credential_process = %[1]s login --print
region = us-east-1
ca_bundle = %[2]s/.config/pinion/ca.pem
services = pinion
[services pinion]
ecs =
  endpoint_url = https://%[3]s
sts =
  endpoint_url = https://%[3]s
`, binary, home, h.listen)
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws", "config"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := as("aws sts get-caller-identity"); err != nil || !strings.HasSuffix(decode(t, out).text("Arn"), ":user/login/alice@example.com") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := as("aws ecs list-clusters"); err != nil || len(decode(t, out).list("clusterArns")) == 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := as("aws ecs create-cluster --cluster-name mine"); err == nil || !strings.Contains(err.Error(), "AccessDeniedException") {
		t.Errorf("%v\n%s", err, out)
	}
	if lines := h.pinion(t, "audit"); !strings.Contains(lines, "alice@example.com") {
		t.Errorf("%s", lines)
	}
}

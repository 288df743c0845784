package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// terraform is a folder in which Terraform works, with providers from a folder and never from the network.
type terraform struct {
	pool    *testPool
	dir     string
	version string // of the AWS provider
}

// pluginFolders are where the AWS provider may lie unpacked, as `terraform providers mirror` leaves it.
func pluginFolders() []string {
	home, _ := os.UserHomeDir()
	return []string{os.Getenv("TF_PLUGIN_DIR"), filepath.Join(home, ".terraform.d/plugins"), "/usr/share/terraform/plugins", "/usr/local/share/terraform/plugins", "/opt/tf-plugins"}
}

func newTerraform(t *testing.T) terraform {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("NOT TESTED: terraform is not on this machine")
	}
	for _, folder := range pluginFolders() {
		found, _ := filepath.Glob(filepath.Join(folder, "registry.terraform.io/hashicorp/aws/*/*"))
		if folder == "" || len(found) == 0 {
			continue
		}
		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS("terraform")))
		config := fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", folder)
		must(t, os.WriteFile(filepath.Join(dir, "terraformrc"), []byte(config), 0o600))
		return terraform{dir: dir, version: filepath.Base(filepath.Dir(found[0]))}
	}
	t.Skipf("NOT TESTED: no AWS provider for Terraform in %s; TF_PLUGIN_DIR may name its folder", strings.Join(pluginFolders()[1:], ", "))
	return terraform{}
}

// mustRun answers what a command says that has to end with status 0, which of `plan -detailed-exitcode` is an empty plan.
func (f terraform) mustRun(t *testing.T, arguments ...string) string {
	t.Helper()
	cmd := f.pool.command(append([]string{"terraform"}, arguments...)...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(f.dir, "terraformrc"), "TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1",
		"TF_VAR_endpoint="+f.pool.env["AWS_ENDPOINT_URL_ECS"])
	began := time.Now()
	out, err := f.pool.run(cmd)
	if err != nil {
		t.Fatalf("terraform %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	t.Logf("terraform %s: after %v", strings.Join(arguments, " "), time.Since(began).Round(time.Second))
	return string(out)
}

// TestTerraform makes a cluster with a queue, a log group, an account setting, a service that is scaled, by alarms too, behind a load balancer, one with a task set, parameters and secrets, and task definitions, changes all of them, and ends them. After each change a
// second plan is empty: Terraform finds what it asked for.
func TestTerraform(t *testing.T) {
	t.Parallel()
	f := newTerraform(t)
	f.pool = newTestPool(t)
	f.mustRun(t, "init", "-input=false")
	done := map[string]string{"vision": "30 added, 0 changed, 0 destroyed", "speech": "3 added, 21 changed, 3 destroyed"}
	for _, team := range []string{"vision", "speech"} {
		if output := f.mustRun(t, "apply", "-auto-approve", "-var", "team="+team); !strings.Contains(output, done[team]) {
			t.Errorf("terraform apply for %s does not say %q:\n%s", team, done[team], output)
		}
		f.mustRun(t, "plan", "-detailed-exitcode", "-var", "team="+team)
	}
	f.mustRun(t, "destroy", "-auto-approve", "-var", "team=speech")
	described := runStep(t, newSDK(t, f.pool), step{operation: "DescribeClusters"}, `{"clusters":["terraform"]}`)
	if status := textAt(described, "clusters.0.status"); status != "INACTIVE" {
		t.Errorf("after destroy the cluster is %q", status)
	}
	recordPassed(t, "Terraform", "with provider "+f.version)
}

package cli

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli/env"
)

// specialCharacters is a secret with everything that shells treat specially.
const specialCharacters = `a'b"c $HOME \n` + "`id`" + `;*\ é`

func newAccessHost(t *testing.T, a env.Access) *fakeHost {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHost{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(h.dir, "client.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

var testAccess = env.Access{Endpoint: "https://10.0.0.5:7400", KeyID: "AKIAEXAMPLEEXAMPLE00", Secret: specialCharacters, Region: "us-east-1", CAFile: "/var/lib/pinion/pki/ca.crt"}

// conflictingVariables is an environment that would keep clients away from Pinion.
var conflictingVariables = map[string]string{
	"AWS_PROFILE": "work", "AWS_DEFAULT_PROFILE": "work", "AWS_SESSION_TOKEN": "t", "AWS_SECURITY_TOKEN": "t", "AWS_CREDENTIAL_EXPIRATION": "2001-01-01T00:00:00Z",
	"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true", "AWS_USE_FIPS_ENDPOINT": "true", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1",
	"AWS_CA_BUNDLE": "/etc/ssl/corporate.pem", "AWS_PAGER": "less", "HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "localhost",
}

func TestEvalOfPinionEnvLeavesExactlyWhatClientsNeed(t *testing.T) {
	for name, value := range conflictingVariables {
		t.Setenv(name, value)
	}
	script := pinion(t, newAccessHost(t, testAccess), "env")
	if script.code != 0 {
		t.Fatalf("%+v", script)
	}
	for _, shell := range []string{"sh", "bash"} {
		out, err := exec.Command(shell, "-c", `eval "$1"; env -0`, shell, script.out).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for pair := range strings.SplitSeq(string(out), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			got[name] = value
		}
		for name, want := range map[string]string{
			"AWS_ENDPOINT_URL": "https://10.0.0.5:7400", "AWS_ENDPOINT_URL_ECS": "https://10.0.0.5:7400", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": "https://10.0.0.5:7400", "AWS_ENDPOINT_URL_CLOUDWATCH": "https://10.0.0.5:7400", "AWS_ENDPOINT_URL_APPLICATION_AUTO_SCALING": "https://10.0.0.5:7400", "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2": "https://10.0.0.5:7400",
			"AWS_ACCESS_KEY_ID": "AKIAEXAMPLEEXAMPLE00", "AWS_SECRET_ACCESS_KEY": specialCharacters,
			"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_CA_BUNDLE": "/var/lib/pinion/pki/ca.crt", "AWS_PAGER": "",
			"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false", "AWS_USE_FIPS_ENDPOINT": "false", "AWS_USE_DUALSTACK_ENDPOINT": "false",
			"NO_PROXY": "localhost,10.0.0.5", "no_proxy": "10.0.0.5",
		} {
			if value, set := got[name]; value != want || !set {
				t.Errorf("%s: %s is %q (set: %v), want %q", shell, name, value, set, want)
			}
		}
		for _, name := range []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION"} {
			if value, set := got[name]; set {
				t.Errorf("%s: %s is still %q", shell, name, value)
			}
		}
	}
}

func TestEnvLeavesProxyVariablesAloneWhereThereIsNoProxy(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	if got := pinion(t, newAccessHost(t, testAccess), "env"); strings.Contains(strings.ToLower(got.out), "no_proxy") {
		t.Error(got.out)
	}
}

func TestEnvForFishAndForPrograms(t *testing.T) {
	h := newAccessHost(t, testAccess)
	fish := pinion(t, h, "env", "--shell", "fish").out
	for _, line := range []string{`set -gx AWS_SECRET_ACCESS_KEY 'a\'b"c $HOME \\n` + "`id`" + `;*\\ é'`, "set -e AWS_PROFILE"} {
		if !strings.Contains(fish, line+"\n") {
			t.Errorf("no line %s in\n%s", line, fish)
		}
	}
	var document map[string]*string
	if err := json.Unmarshal([]byte(pinion(t, h, "env", "-o", "json").out), &document); err != nil {
		t.Fatal(err)
	}
	profile, named := document["AWS_PROFILE"]
	if *document["AWS_SECRET_ACCESS_KEY"] != specialCharacters || !named || profile != nil {
		t.Errorf("%v", document)
	}
}

func TestEnvOfAnotherMachineComesFromTheFlags(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, testCA, 0o600); err != nil {
		t.Fatal(err)
	}
	got := pinion(t, nil, "--host", "gpu9:7400", "--key-id", "AKIA9", "--secret", "s", "--ca", ca, "--region", "eu-1", "env")
	for _, line := range []string{"export AWS_ENDPOINT_URL_ECS='https://gpu9:7400'", "export AWS_ACCESS_KEY_ID='AKIA9'", "export AWS_CA_BUNDLE='" + ca + "'", "export AWS_REGION='eu-1'"} {
		if !strings.Contains(got.out, line+"\n") {
			t.Errorf("no line %s in %+v", line, got)
		}
	}
}

func TestEnvSaysWhyItHasNothingToPrint(t *testing.T) {
	damaged := &fakeHost{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(damaged.dir, "client.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		d    *fakeHost
		says string
	}{
		"no host yet":  {nil, "no host has been started in DIR yet. Start one with `sudo pinion up`"},
		"damaged":      {damaged, "client.json is damaged"},
		"not complete": {newAccessHost(t, env.Access{Endpoint: "https://h:1"}), "client.json is not complete"},
	}
	for name, c := range cases {
		if got := pinion(t, c.d, "env"); got.code != 1 || got.out != "" || !strings.Contains(strings.ReplaceAll(got.err, "pinion: no host has been started in /", "pinion: no host has been started in DIR"), strings.Split(c.says, "DIR")[0]) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// testCA is a certificate in PEM form; which one does not matter.
var testCA = func() []byte {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}()

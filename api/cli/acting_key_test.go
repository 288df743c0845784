package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/cli/env"
	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// withoutKeys is a user without keys, logins and hosts in the environment.
func withoutKeys(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, name := range []string{"PINION_HOST", "PINION_CONTEXT", "PINION_ACCESS_KEY_ID", "PINION_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
}

// poolWithKey is a host whose pool has one access key, a lesser one than root's.
func poolWithKey(t *testing.T, key string) *fakeHost {
	t.Helper()
	h := newFakeHost(t)
	h.key = key
	h.documents["/v1/hosts"] = serveDocument([]any{})
	return h
}

// Where a key is set, nobody acts with other rights than its own without being told.
func TestAKeyThatIsSetActsThroughTheSocketToo(t *testing.T) {
	const ours, amazons = "AKIAOURS", "AKIAAMAZONS"
	for name, c := range map[string]struct {
		set   map[string]string
		flags []string
		actor string // "none": the command is refused
		told  string // the key that does not act
	}{
		"no key":                          {nil, nil, "", ""},
		"a flag":                          {nil, []string{"--key-id", ours, "--secret", "s"}, ours, ""},
		"a flag after the command":        {map[string]string{"AWS_SECRET_ACCESS_KEY": "s"}, []string{"hosts", "--key-id", ours}, ours, ""},
		"a flag with an unknown key":      {nil, []string{"--key-id", amazons, "--secret", "s"}, "none", ""},
		"a flag without a secret":         {nil, []string{"--key-id", ours}, "none", ""},
		"Pinion's variables":              {map[string]string{"PINION_ACCESS_KEY_ID": ours, "PINION_SECRET_ACCESS_KEY": "s", "AWS_ACCESS_KEY_ID": amazons, "AWS_SECRET_ACCESS_KEY": "s"}, nil, ours, ""},
		"Pinion's variables, unknown key": {map[string]string{"PINION_ACCESS_KEY_ID": amazons, "PINION_SECRET_ACCESS_KEY": "s"}, nil, "none", ""},
		"Pinion's variable, no secret":    {map[string]string{"PINION_ACCESS_KEY_ID": ours, "AWS_SECRET_ACCESS_KEY": "s"}, nil, "none", ""},
		"AWS variables, a key of ours":    {map[string]string{"AWS_ACCESS_KEY_ID": ours, "AWS_SECRET_ACCESS_KEY": "s"}, nil, ours, ""},
		"AWS variables, Amazon's key":     {map[string]string{"AWS_ACCESS_KEY_ID": amazons, "AWS_SECRET_ACCESS_KEY": "s"}, nil, "", amazons},
		"AWS variables, Amazon's session": {map[string]string{"AWS_ACCESS_KEY_ID": amazons, "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}, nil, "", amazons},
		"AWS variables without a secret":  {map[string]string{"AWS_ACCESS_KEY_ID": amazons}, nil, "", amazons},
	} {
		t.Run(name, func(t *testing.T) {
			withoutKeys(t)
			for variable, value := range c.set {
				t.Setenv(variable, value)
			}
			h := poolWithKey(t, ours)
			arguments := c.flags
			if !slices.Contains(arguments, "hosts") {
				arguments = append(slices.Clone(c.flags), "hosts")
			}
			got := pinion(t, h, arguments...)
			if c.actor == "none" {
				if got.code == 0 || len(h.actors) != 0 {
					t.Errorf("it acts: %q, %+v", h.actors, got)
				}
				return
			}
			if got.code != 0 || slices.ContainsFunc(h.actors, func(actor string) bool { return actor != c.actor }) || len(h.actors) == 0 {
				t.Errorf("%q act: %+v", h.actors, got)
			}
			if strings.Contains(got.err, "This acts as") != (c.told != "") || !strings.Contains(got.err, c.told) {
				t.Errorf("it says %q", got.err)
			}
		})
	}
}

func TestALoginThatDoesNotActIsNamed(t *testing.T) {
	withoutKeys(t)
	if err := (invocation.Login{Host: "gpu-9:7400", KeyID: "AKIALESS", Secret: "s"}).Save("lab", nil); err != nil {
		t.Fatal(err)
	}
	h := poolWithKey(t, "AKIAOURS")
	if got := pinion(t, h, "hosts"); got.code != 0 || !strings.Contains(got.err, "lab") || !strings.Contains(got.err, "gpu-9:7400") {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "hosts", "--context", "lab", "--key-id", "AKIAOURS", "--secret", "s"); got.code != exit.Usage {
		t.Errorf("a context and a key: %+v", got)
	}
}

func TestWhoAmISaysWhichKeyActsAndWhy(t *testing.T) {
	withoutKeys(t)
	h := poolWithKey(t, "AKIAOURS")
	h.documents["/v1/whoami"] = serveDocument(map[string]any{"arn": "a", "accessKeyId": "AKIAOURS", "name": "ci", "role": "read", "cluster": "lab", "teams": []string{"vision"},
		"maxGpus": 2, "inUse": map[string]any{"gpus": 1}})
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOURS")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	checkEqual(t, "whoami", strings.ReplaceAll(pinion(t, h, "whoami").out, h.dir, "DIR"),
		"identity  AKIAOURS (ci)\nrole      read\nclusters  lab\nteams     vision\nlimits    gpus 1/2\nfrom      AWS_ACCESS_KEY_ID\nhost      DIR/pinion.sock\n")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAAMAZONS")
	var document map[string]any
	if err := json.Unmarshal([]byte(pinion(t, h, "whoami", "-o", "json").out), &document); err != nil || document["passedOver"] == nil {
		t.Errorf("%v %v", document, err)
	}
}

// What `pinion env` leaves behind leads the next pinion to the same host, with a key that was given and not with more.
func TestTheNextPinionAfterEnvTalksToTheSameHost(t *testing.T) {
	withoutKeys(t)
	h := newAccessHost(t, testAccess)
	get := func(arguments ...string) map[string]*string {
		t.Helper()
		var document map[string]*string
		if err := json.Unmarshal([]byte(pinion(t, h, append([]string{"env", "-o", "json"}, arguments...)...).out), &document); err != nil {
			t.Fatal(err)
		}
		return document
	}
	here := get()
	if here["PINION_DATA_DIR"] == nil || *here["PINION_DATA_DIR"] != h.dir || here["PINION_HOST"] != nil || here["PINION_CONTEXT"] != nil {
		t.Errorf("%v", here)
	}
	if given := get("--key-id", "AKIALESS", "--secret", "s"); *given["AWS_ACCESS_KEY_ID"] != "AKIALESS" || *given["AWS_ENDPOINT_URL_ECS"] != testAccess.Endpoint {
		t.Errorf("%v", given)
	}
	there := get("--host", "gpu9", "--key-id", "AKIALESS", "--secret", "s")
	if there["PINION_HOST"] == nil || *there["PINION_HOST"] != "gpu9:7400" || there["PINION_DATA_DIR"] != nil {
		t.Errorf("%v", there)
	}
	if err := (invocation.Login{Host: "gpu-9:7400", KeyID: "AKIALESS", Secret: "s"}).Save("lab", nil); err != nil {
		t.Fatal(err)
	}
	if lab := get("--context", "lab"); lab["PINION_CONTEXT"] == nil || *lab["PINION_CONTEXT"] != "lab" || lab["PINION_HOST"] != nil {
		t.Errorf("%v", lab)
	}
}

func TestEnvSaysWhoseKeyGivesWay(t *testing.T) {
	withoutKeys(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIALESS")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	if got := pinion(t, newAccessHost(t, testAccess), "env"); got.code != 0 || !strings.Contains(got.err, "AKIALESS") {
		t.Errorf("%+v", got)
	}
	dir := t.TempDir()
	raw, err := json.Marshal(env.Access{Endpoint: "https://h:1", KeyID: "AKIALESS", Secret: "s", Region: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "client.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := pinion(t, &fakeHost{dir: dir}, "env"); got.code != 0 || got.err != "" {
		t.Errorf("the same key: %+v", got)
	}
}

package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newRegisterHost(t *testing.T) *fakeHost {
	h := newFakeHost(t)
	h.operations["RegisterTaskDefinition"] = always(`{"taskDefinition":{"family":"app","revision":1}}`)
	h.header = http.Header{"X-Pinion-Warning": {`"version" has no effect`, "taskRoleArn has no effect"}}
	return h
}

func TestRegisterSendsTheFileAsItIsAndTellsTheWarnings(t *testing.T) {
	for name, document := range map[string]string{
		"app.json": `{"family":"app", "containerDefinitions":[]}`,
		"app.yaml": "version: \"1.3\"\nfamily: app\n",
		"bad.json": `{"containerDefinitions": [ ... ],}`, // for the host to refuse, in its own words
	} {
		h := newRegisterHost(t)
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		got := pinion(t, h, "register", "-f", file)
		checkEqual(t, name, h.bodies["RegisterTaskDefinition"], document)
		checkEqual(t, "stdout", got.out, "app:1\n")
		checkEqual(t, "stderr", got.err, "warning: \"version\" has no effect\nwarning: taskRoleArn has no effect\n")
		want := "application/json"
		if strings.HasSuffix(name, "yaml") {
			want = "application/yaml"
		}
		checkEqual(t, "type of "+name, documentType([]byte(document)), want)
	}
}

func TestRegisterCanGiveTheFamily(t *testing.T) {
	cases := map[string]struct{ document, sent, says string }{
		"json":       {`{"cpu":"1","family":"old"}`, `{"cpu":"1","family":"new"}`, ""},
		"yaml":       {"gpuCount: 1\nversion: \"1.3\"\n", `{"family":"new","gpuCount":1,"version":"1.3"}`, ""},
		"bad json":   {`{"cpu": }`, "", "not a task definition: invalid character '}'"},
		"bad yaml":   {"cpu: [", "", "not a YAML document"},
		"said twice": {"cpu: 1\ncpu: 2\n", "", `key "cpu" already set`},
		"nothing":    {"", "", "the document is empty"},
		"a list":     {"- 1", "", "not a task definition"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := replaceFamily([]byte(c.document), "new")
			checkEqual(t, "sent", string(got), c.sent)
			if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestARefusedDefinitionIsOneSentenceWithItsType(t *testing.T) {
	h := newRegisterHost(t)
	h.operations["RegisterTaskDefinition"] = always(errorReply{400, "com.amazonaws.ecs#ClientException", "Family should not be null or empty."})
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("cpu: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := pinion(t, h, "register", "-f", file)
	if got.code != 1 || !strings.HasSuffix(got.err, "pinion: Family should not be null or empty. (ClientException)\n") {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "register", "-f", "/nowhere.json"); got.code != 1 || !strings.Contains(got.err, "open /nowhere.json: no such file") {
		t.Errorf("%+v", got)
	}
}

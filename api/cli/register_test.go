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
	}
}

func TestARefusedDefinitionIsOneSentenceAndItsTypeIsForPrograms(t *testing.T) {
	h := newRegisterHost(t)
	h.operations["RegisterTaskDefinition"] = always(errorReply{400, "com.amazonaws.ecs#ClientException", "Family should not be null or empty."})
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("cpu: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"register", "-f", file}, {"register", "-f", file, "-o", "json"}} {
		want := "pinion: Family should not be null or empty."
		if len(line) > 3 {
			want += " (ClientException)" // programs read the type
		}
		if got := pinion(t, h, line...); got.code != 1 || got.err != want+"\n" {
			t.Errorf("%v: %+v", line, got)
		}
	}
	if got := pinion(t, h, "register", "-f", "/nowhere.json"); got.code != 1 || !strings.Contains(got.err, "open /nowhere.json: no such file") {
		t.Errorf("%+v", got)
	}
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

func TestRunTakesTheFlagsOfDocker(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("# of the file\nA=1\n\nB=two words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newRunHost(t, pending, exitedTask(0))
	got := pinion(t, h, "run", "--rm", "-eC=3", "--env-file", file, "-v", "/data:/mnt", "-p", "8080:80", "-p", "53/udp", "-w", "/work", "-u", "1000:1000",
		"--entrypoint", "sh", "--ulimit", "memlock=-1", "--stop-timeout", "90", "-l", "who=me", "img", "-c", "exit 0")
	var sent struct {
		Containers []map[string]any `json:"containerDefinitions"`
	}
	if err := json.Unmarshal([]byte(h.bodies["RegisterTaskDefinition"]), &sent); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	for field, want := range map[string]string{
		"environment":  `[{"name":"A","value":"1"},{"name":"B","value":"two words"},{"name":"C","value":"3"}]`,
		"portMappings": `[{"containerPort":80,"hostPort":8080,"protocol":"tcp"},{"containerPort":53,"hostPort":0,"protocol":"udp"}]`,
		"command":      `["-c","exit 0"]`, "entryPoint": `["sh"]`, "workingDirectory": `"/work"`, "user": `"1000:1000"`, "stopTimeout": `90`,
		"ulimits": `[{"hardLimit":-1,"name":"memlock","softLimit":-1}]`, "dockerLabels": `{"who":"me"}`,
	} {
		document, _ := json.Marshal(sent.Containers[0][field])
		checkEqual(t, field, string(document), want)
	}
	for _, line := range []string{"-p x img", "-p 1:2:3 img", "-p 70000 img", "-p 80/sctp img", "--ulimit memlock img", "--stop-timeout never img", "--stop-timeout 0 img", "-l =x img"} {
		if got := pinion(t, newRunHost(t, pending), append([]string{"run"}, strings.Fields(line)...)...); got.code != exit.Usage {
			t.Errorf("run %s: %+v", line, got)
		}
	}
}

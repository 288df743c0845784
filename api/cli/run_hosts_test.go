package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

func TestRunChoosesAmongTheHosts(t *testing.T) {
	for line, want := range map[string]string{
		"--on-host gpu-7":                          `"placementConstraints":[{"expression":"ec2InstanceId in ['gpu-7']","type":"memberOf"}]`,
		"--on-host gpu-7 --on-host it's":           `"expression":"ec2InstanceId in ['gpu-7', 'it''s']"`,
		"--gpu-model H100":                         `"expression":"attribute:pinion.gpu.model =~ '(?i)[^,]*(H100)[^,]*'"`,
		"--gpu-alternatives H200:1/H100:2":         `"key":"pinion.gpu-alternatives","value":"H200:1/H100:2"`,
		"--gpu-model H100|H200.x":                  `"expression":"attribute:pinion.gpu.model =~ '(?i)[^,]*(H100|H200\\.x)[^,]*'"`,
		"--gpu-memory-min 80g":                     `"expression":"attribute:pinion.gpu.memory-mib >= 76293"`,
		"--constraint a==1 --constraint b==2":      `[{"expression":"a==1","type":"memberOf"},{"expression":"b==2","type":"memberOf"}]`,
		"--spread rack":                            `"placementStrategy":[{"field":"attribute:rack","type":"spread"}]`,
		"--spread host":                            `"placementStrategy":[{"field":"host","type":"spread"}]`,
		"--hold":                                   `"tags":[{"key":"pinion.hold","value":"true"}]`,
		"--time-limit 1d12h":                       `{"key":"pinion.time-limit","value":"36h0m0s"}`,
		"--time-limit 00:00:03":                    `{"key":"pinion.time-limit","value":"3s"}`,
		"--env A=1 -e B=2 -v /a:/a --volume /b:/b": `"count":1`,
	} {
		h := newRunHost(t, running)
		got := pinion(t, h, append(append([]string{"run", "-d"}, strings.Fields(line)...), "nvidia/cuda")...)
		body := strings.NewReplacer(`\u0026`, "&", `\u003e`, ">").Replace(h.bodies["RunTask"])
		if got.code != 0 || !strings.Contains(body, want) {
			t.Errorf("%s: %+v, sent %s", line, got, body)
		}
	}
	for _, wrong := range []string{"--hold --no-wait", "--spread=", "--gpu-model H100|", "--gpu-alternatives H200:1", "--gpu-alternatives H200:1/H100:2 --gpus 1", "--gpu-memory-min much"} {
		if got := pinion(t, newRunHost(t, running), append(append([]string{"run", "-d"}, strings.Fields(wrong)...), "nvidia/cuda")...); got.code != exit.Usage {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}

// What is wrong in a file is said with its line.
func TestAFileOfVariablesIsReadLineByLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	for text, says := range map[string]string{
		"A=1\nexport D=4\n":      file + `:2: "export D" is no name of a variable`,
		"# one\n\nPINION_NOEQ\n": file + `:3: the variable PINION_NOEQ is not set here; write PINION_NOEQ=VALUE`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := pinion(t, newRunHost(t, running), "run", "-d", "--env-file", file, "img"); got.code != exit.Usage || !strings.Contains(got.err, says) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestANounAloneLists(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	h.documents["/v1/admin/keys"] = serveDocument(`[]`)
	h.operations["ListServices"] = always(`{"serviceArns":[]}`)
	for noun, says := range map[string]string{"tasks": "RUNNING", "keys": "ROLE", "services": "ROLLOUT", "service --cluster default": "ROLLOUT"} {
		if got := pinion(t, h, strings.Fields(noun)...); got.code != 0 || !strings.Contains(got.out, says) {
			t.Errorf("%s: %+v", noun, got)
		}
	}
}

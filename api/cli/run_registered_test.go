package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// newRegisteredHost is a host on which tasks run and where a definition is registered.
func newRegisteredHost(t *testing.T, definition string) *fakeHost {
	h := newRunHost(t, pending, exitedTask(0))
	h.operations["DescribeTaskDefinition"] = always(`{"taskDefinition":` + definition + `}`)
	return h
}

func TestRunStartsARegisteredDefinition(t *testing.T) {
	h := newRegisteredHost(t, `{"family":"trainer","revision":3,"containerDefinitions":[{"name":"main"},{"name":"side"}]}`)
	got := pinion(t, h, "run", "--gpus", "2", "--memory", "2g", "-e", "A=1", "trainer:3", "python", "train.py")
	if got.code != 0 || h.callCount("RegisterTaskDefinition") != 0 {
		t.Fatalf("%+v after %q", got, h.calls)
	}
	var sent struct {
		TaskDefinition string
		Overrides      json.RawMessage
	}
	if err := json.Unmarshal([]byte(h.bodies["RunTask"]), &sent); err != nil || sent.TaskDefinition != "trainer:3" {
		t.Errorf("%v, %+v", err, sent)
	}
	checkEqual(t, "overrides", string(sent.Overrides), `{"containerOverrides":[{"command":["python","train.py"],"environment":[{"name":"A","value":"1"}],"memory":2048,"name":"main","resourceRequirements":[{"value":"2","type":"GPU"}]}]}`)

	if got := pinion(t, h, "run", "trainer"); got.code != 0 || strings.Contains(h.bodies["RunTask"], "overrides") {
		t.Errorf("as it is: %+v, sent %s", got, h.bodies["RunTask"])
	}
	if pinion(t, h, "run", "--name", "side", "trainer", "sh"); !strings.Contains(h.bodies["RunTask"], `"name":"side"`) {
		t.Errorf("another container: sent %s", h.bodies["RunTask"])
	}
	for _, line := range []string{"run -v /a:/b trainer", "run -p 80 trainer", "run --name nobody trainer"} {
		if got := pinion(t, h, strings.Fields(line)...); got.code != exit.Usage || !strings.Contains(got.err, "trainer:3") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// The newest revision is used again when it says the same and nothing else: another key of the cluster may have registered it.
func TestEqualRunsShareARevision(t *testing.T) {
	h := newRunHost(t, pending, exitedTask(0))
	if got := pinion(t, h, "run", "-e", "A=1", "nvidia/cuda", "sh"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	first := h.bodies["RegisterTaskDefinition"]
	described := strings.Replace(first, `"family":"run-cuda"`, `"family":"run-cuda","revision":7,"status":"ACTIVE","compatibilities":["EXTERNAL","EC2"],"registeredBy":"somebody","placementConstraints":[]`, 1)
	for name, c := range map[string]struct {
		described, env string
		registered     int
	}{
		"the same":         {described, "A=1", 0},
		"another variable": {described, "A=2", 1},
		"more power":       {strings.Replace(described, `"image"`, `"privileged":true,"image"`, 1), "A=1", 1},
		"another member":   {strings.Replace(described, `"revision"`, `"pidMode":"host","revision"`, 1), "A=1", 1},
		"another image":    {strings.Replace(described, `nvidia/cuda`, `evil/cuda`, 1), "A=1", 1},
		"a constraint":     {strings.Replace(described, `"placementConstraints":[]`, `"placementConstraints":[{}]`, 1), "A=1", 1},
	} {
		h := newRegisteredHost(t, c.described)
		got := pinion(t, h, "run", "-e", c.env, "nvidia/cuda", "sh")
		if got.code != 0 || h.callCount("RegisterTaskDefinition") != c.registered {
			t.Errorf("%s: registered %d times, %+v", name, h.callCount("RegisterTaskDefinition"), got)
		}
		if c.registered == 0 && !strings.Contains(h.bodies["RunTask"], `"run-cuda:7"`) {
			t.Errorf("%s: sent %s", name, h.bodies["RunTask"])
		}
	}
}

package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// maintained is a pool whose host gpu-1 is maintained. Its first GPU has a task as long as left says, poll by poll; outcomes are those of the checks of
// its GPUs, and findings what is wrong with its machine.
type maintained struct {
	*fakeHost
	host     string // members of the host
	left     []bool
	sharing  bool // the task has a share of the GPU
	outcomes map[string]string
	findings string
	statuses []string // that were set
}

func newMaintained(t *testing.T, host string, left ...bool) *maintained {
	m := &maintained{fakeHost: newFakeHost(t), host: host, left: left, findings: "[]", outcomes: map[string]string{"GPU-1": "", "GPU-2": ""}}
	m.documents["/v1/hosts"] = func(http.ResponseWriter) any {
		return fmt.Sprintf(`[{"id":"%s","name":"gpu-1","cluster":"lab","tasks":7,%s}]`, hostOne, m.host)
	}
	m.documents["/v1/gpus"] = func(http.ResponseWriter) any { return m.gpus() }
	m.documents["/v1/admin/hosts/"+hostOne+"/doctor"] = func(http.ResponseWriter) any { return m.findings }
	m.operations["UpdateContainerInstancesState"] = func(in map[string]any) any {
		m.statuses = append(m.statuses, fmt.Sprint(in["status"], in["stopTasks"]))
		return map[string]any{}
	}
	for uuid := range m.outcomes {
		m.operations["admin/gpus/"+uuid+"/check"] = func(map[string]any) any { return map[string]any{} }
		m.documents["/v1/admin/gpus/"+uuid+"/check"] = func(http.ResponseWriter) any {
			return map[string]any{"done": true, "problem": m.outcomes[uuid]}
		}
	}
	return m
}

// gpus are two GPUs of the host, one in quarantine, and one of another host, which a task has all the time.
func (m *maintained) gpus() string {
	holder := ""
	if len(m.left) > 0 {
		if m.left[0] {
			holder = `,"task":"` + taskOne + `"`
		}
		if m.left[0] && m.sharing {
			holder = `,"shares":[{"task":"` + taskOne + `"}]`
		}
		m.left = m.left[1:]
	}
	of := func(host, uuid, health, more string) string {
		return fmt.Sprintf(`{"hostId":%q,"host":"gpu-1","uuid":%q,"health":%q%s}`, host, uuid, health, more)
	}
	return "[" + strings.Join([]string{of(hostOne, "GPU-1", "HEALTHY", holder), of(hostOne, "GPU-2", "SUSPECT", ""), of(hostOne, "GPU-3", "QUARANTINED", ""),
		of(hostTwo, "GPU-4", "HEALTHY", `,"task":"other"`)}, ",") + "]"
}

// A host is ready when the last task with a GPU, or a share of one, has ended; tasks without GPUs, and those of other hosts, do not matter.
func TestMaintainWaitsForTheTasksThatHaveGPUs(t *testing.T) {
	for _, sharing := range []bool{false, true} {
		m := newMaintained(t, `"status":"ACTIVE","connected":true`, true, true, false)
		m.sharing = sharing
		got := pinion(t, m.fakeHost, "hosts", "maintain", "gpu-1")
		if got.code != 0 || !strings.Contains(got.out, "pinion host maintain --done gpu-1") || strings.Count(got.err, "1 task") != 1 || len(m.left) > 0 {
			t.Errorf("sharing %t: %+v, %d polls left", sharing, got, len(m.left))
		}
		checkEqual(t, "set", strings.Join(m.statuses, "; "), "DRAINING<nil>")
	}
	m := newMaintained(t, `"status":"ACTIVE","connected":true`)
	pinion(t, m.fakeHost, "host", "maintain", "--stop", "gpu-1")
	checkEqual(t, "set", strings.Join(m.statuses, "; "), "DRAININGtrue")
}

// What was maintained gets tasks again when its machine and each GPU that is not in quarantine have passed, and otherwise stays as it is.
func TestMaintainReturnsAHostThatHasPassed(t *testing.T) {
	const drained = `"status":"DRAINING","connected":true`
	for name, c := range map[string]struct {
		prepare func(m *maintained)
		says    string // part of what it says when it does not return the host
	}{
		"all is well":          {func(*maintained) {}, ""},
		"a warning":            {func(m *maintained) { m.findings = `[{"check":"clock","level":"warning","found":"x","do":"y"}]` }, ""},
		"a GPU has not passed": {func(m *maintained) { m.outcomes["GPU-2"] = "12 words differ" }, "12 words differ"},
		"its driver is of another": {func(m *maintained) {
			m.findings = `[{"check":"driver","level":"failed","found":"was upgraded","do":"reboot"}]`
		}, "reboot"},
		"it sees no GPUs":    {func(m *maintained) { m.host = drained + `,"gpus":{"problem":"no NVML"}` }, "no NVML"},
		"it is not heard of": {func(m *maintained) { m.host = `"status":"DRAINING","connected":false` }, "UNKNOWN"},
		"it was not drained": {func(m *maintained) { m.host = `"status":"ACTIVE","connected":true` }, "pinion gpus check"},
		"a task has a GPU":   {func(m *maintained) { m.left = []bool{true} }, "1 task"},
	} {
		m := newMaintained(t, drained)
		c.prepare(m)
		got := pinion(t, m.fakeHost, "host", "maintain", "--done", "gpu-1")
		if returned := slices.Equal(m.statuses, []string{"ACTIVE<nil>"}); returned != (c.says == "") || (got.code == 0) != returned || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v, set %q", name, got, m.statuses)
		}
	}
}

func TestMaintainRefusesWhatDoesNotGoTogether(t *testing.T) {
	for _, wrong := range [][]string{{}, {"gpu-1", "gpu-2"}, {"--done", "--stop", "gpu-1"}, {"--done", "--timeout", "1m", "gpu-1"}, {"--deadline", "1m", "gpu-1"}} {
		m := newMaintained(t, `"status":"ACTIVE","connected":true`)
		if got := pinion(t, m.fakeHost, append([]string{"host", "maintain"}, wrong...)...); got.code != 2 || len(m.statuses) > 0 {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
}

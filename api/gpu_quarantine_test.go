package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/client"
	"pinion/gpu"
	"pinion/raftfsm/accesskey"
)

// An administrator takes a GPU out of use, and gives it back. A key that is no administrator's, or an administrator's of some clusters, may not.
func TestAnAdministratorKeepsAGPUFromNewTasks(t *testing.T) {
	b := ready(t)
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	change := func(bearer, change, body string) reply {
		return b.as(bearer, httptest.NewRequest("POST", "/v1/admin/gpus/"+change, strings.NewReader(body)))
	}
	list := func() (gpus []client.GPU) {
		b.as(admin, httptest.NewRequest("GET", "/v1/gpus", nil)).decode(t, &gpus)
		return gpus
	}
	first := func() client.GPU { return list()[0] }
	run := func() (given []string) {
		var answer runOutput
		b.as(admin, restRequest("RunTask", `{"taskDefinition":"tensorflow-1-gpu"}`)).decode(t, &answer)
		for _, task := range answer.Tasks {
			given = append(given, task.Containers[0].GPUs...)
		}
		return given
	}
	body := `{"gpu":"` + first().UUID + `","reason":"burns"}`
	wantQuarantineRefused(t, b, admin, first().UUID)
	if got := first(); got.Health != string(gpu.Healthy) {
		t.Errorf("what was refused has changed it: %+v", got)
	}

	if got := change(admin, "quarantine", body); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if got := first(); got.Health != string(gpu.Quarantined) || !strings.Contains(got.Problem, "AKIAADMIN") || !strings.Contains(got.Problem, "burns") || got.Free() {
		t.Errorf("%+v", got)
	}
	if got := b.as(admin, restRequest("DescribeContainerInstances", `{"containerInstances":["`+hostID+`"],"include":["CONTAINER_INSTANCE_HEALTH"]}`)).Body.String(); !strings.Contains(got, "IMPAIRED") || !strings.Contains(got, "burns") {
		t.Errorf("ECS's health: %s", got)
	}
	if given := run(); len(given) != 1 || given[0] == first().UUID {
		t.Errorf("a task has %v", given)
	}
	others := list()[1:]
	for _, g := range others {
		change(admin, "quarantine", `{"gpu":"`+g.UUID+`"}`)
	}
	if given := run(); len(given) != 0 {
		t.Errorf("a task has %v, which is in quarantine", given)
	}
	if got := change(admin, "release", body); got.Code != 200 || first().Health != string(gpu.Healthy) || first().Problem != "" {
		t.Errorf("%d %s, %+v", got.Code, got.Body, first())
	}
	if given := run(); len(given) != 1 || given[0] != first().UUID {
		t.Errorf("a task has %v, not the GPU that was released", given)
	}
}

// wantQuarantineRefused tries it as those who may not, and with what is wrong.
func wantQuarantineRefused(t *testing.T, b *fixture, admin, uuid string) {
	t.Helper()
	change := func(bearer, verb, body string) int {
		return b.as(bearer, httptest.NewRequest("POST", "/v1/admin/gpus/"+verb, strings.NewReader(body))).Code
	}
	for _, who := range []accesskey.Key{{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}, {ID: "AKIAOTHER", Role: accesskey.RoleAdmin, Cluster: "other"}} {
		bearer := b.withKey(t, who)
		for _, verb := range []string{"quarantine", "release"} {
			if got := change(bearer, verb, `{"gpu":"`+uuid+`"}`); got != 403 {
				t.Errorf("%s by %s: %d", verb, who.ID, got)
			}
		}
	}
	for _, wrong := range []string{`{"gpu":"GPU-none"}`, `{"gpu":"` + uuid + `","reason":"` + strings.Repeat("x", 1001) + `"}`, `{"gpus":"all"}`} {
		if got := change(admin, "quarantine", wrong); got/100 != 4 {
			t.Errorf("%.60s: %d", wrong, got)
		}
	}
}

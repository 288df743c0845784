package cli

import (
	"net/http"
	"strings"
	"testing"
)

// A display says of new and old tasks how many run, how many are healthy, and which part of the requests they get.
func TestTheProgressOfARolloutIsShown(t *testing.T) {
	for name, c := range map[string]struct{ tells, says string }{
		"health":            {`{"deployments":[{"id":"2","healthy":0},{"id":"1","healthy":1}]}`, "web: web:2 1 of 2 run, 0 healthy; web:1 1 run, 1 healthy"},
		"requests":          {`{"deployments":[{"id":"2","healthy":1,"requestPercent":2.5},{"id":"1","healthy":1,"requestPercent":97.5}]}`, "web: web:2 1 of 2 run, 1 healthy, 2.5 % of requests; web:1 1 run, 1 healthy, 97.5 % of requests"},
		"of one alone":      {`{"deployments":[{"id":"1","healthy":1}]}`, "web: web:2 1 of 2 run; web:1 1 run, 1 healthy"},
		"of an older host":  {"", "web: web:2 1 of 2 run; web:1 1 run"},
		"it waits for them": {`{"deployments":[{"id":"2","healthy":1,"requestPercent":50}]}`, "web: all run; waiting until"},
	} {
		running := serviceDocument("ACTIVE", 3, deploymentDocument("2", "web:2", "IN_PROGRESS", 2), deploymentDocument("1", "web:1", "COMPLETED", 1))
		h := withService(t, beginning, running, serviceDocument("ACTIVE", 2, deploymentDocument("2", "web:2", "IN_PROGRESS", 2)), steady)
		if c.tells != "" {
			h.documents["/v1/services/progress?cluster=default&service=web"] = func(http.ResponseWriter) any { return c.tells }
		}
		got := pinion(t, h, "service", "update", "web", "--force")
		if got.code != 0 || strings.Count(got.err, c.says) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHowARolloutEnds(t *testing.T) {
	for name, c := range map[string]struct {
		ends string
		code int
		says string
	}{
		"well":        {steady, 0, ""},
		"failed":      {failed, 1, "failed: tasks failed to start."},
		"rolled back": {back, 1, "runs web:1 again"},
		"deleted":     {gone, 1, "somebody deleted it"},
	} {
		got := pinion(t, withService(t, beginning, c.ends), "service", "update", "web", "--force")
		if got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A display says once what the rollout waits for, and `continue` answers all hooks that wait, or one.
func TestARolloutThatWaitsIsContinued(t *testing.T) {
	const hooks = `{"serviceDeployments":[{"lifecycleStage":"POST_SCALE_UP","lifecycleHookDetails":[{"hookId":"a","status":"SUCCEEDED"},
		{"hookId":"b","status":"AWAITING_ACTION","expiresAt":1748779300,"timeoutAction":"ROLLBACK"},{"hookId":"c","status":"AWAITING_ACTION","expiresAt":1748779200,"timeoutAction":"CONTINUE"}]}]}`
	h := withService(t, beginning, beginning, beginning, steady)
	h.operations["DescribeServiceDeployments"] = always(hooks)
	got := pinion(t, h, "service", "update", "web", "--force", "--utc")
	says := "web: waits at POST_SCALE_UP for `pinion service continue web`; without an answer it goes on at 2025-06-01 12:00:00Z"
	if got.code != 0 || strings.Count(got.err, says) != 1 {
		t.Errorf("%+v", got)
	}
	for line, want := range map[string]string{"": "b CONTINUE c CONTINUE", "--hook c": "c CONTINUE", "--rollback": "b ROLLBACK"} {
		h, answered := withService(t, beginning, steady), []string{}
		h.operations["DescribeServiceDeployments"] = always(hooks)
		h.operations["ContinueServiceDeployment"] = func(in map[string]any) any {
			answered = append(answered, in["hookId"].(string), in["action"].(string))
			return `{"serviceDeploymentArn":"x/now"}`
		}
		got := pinion(t, h, append([]string{"service", "continue", "web", "-d"}, strings.Fields(line)...)...)
		if got.code != 0 || got.out != "web\n" || strings.Join(answered, " ") != want || h.body(t, "ContinueServiceDeployment")["serviceDeploymentArn"] != "x/now" {
			t.Errorf("%s: %+v, %v", line, got, answered)
		}
	}
	got = pinion(t, h, "service", "continue", "web", "--hook", "a")
	if got.code != 1 || !strings.Contains(got.err, "no such hook of web waits") {
		t.Errorf("%+v", got)
	}
}

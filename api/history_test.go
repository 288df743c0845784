package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// fakeEnded is a history of a few tasks.
type fakeEnded struct {
	tasks []ended.Task
	err   error
	usage ended.UsageQuery // the last question
}

func (f *fakeEnded) Find(q ended.Query) (page ended.Page, err error) {
	for _, t := range f.tasks {
		if (q.Cluster == "" || q.Cluster == t.Task.Cluster) && (q.Allowed == nil || q.Allowed(t.Task.Cluster, t.Team())) && (q.Outcome == "" || q.Outcome == t.Outcome) {
			page.Tasks = append(page.Tasks, t)
		}
	}
	return page, f.err
}

func (f *fakeEnded) Task(id string) (*ended.Task, error) {
	for i := range f.tasks {
		if f.tasks[i].Task.ID == id {
			return &f.tasks[i], f.err
		}
	}
	return nil, f.err
}

func (f *fakeEnded) IDs(prefix string, _ int) (ids []string, err error) {
	for _, t := range f.tasks {
		if strings.HasPrefix(t.Task.ID, prefix) {
			ids = append(ids, t.Task.ID)
		}
	}
	return ids, f.err
}

func (f *fakeEnded) Usage(q ended.UsageQuery) (ended.Usage, error) {
	f.usage = q
	return ended.Usage{Rows: []ended.UsageRow{{Team: "vision", Tasks: 2, GPUSeconds: 7200}}}, f.err
}

const (
	pastLab   = "1a1a000000000000000000000000000a"
	pastOther = "2b2b000000000000000000000000000b"
)

// withHistory is a fixture whose state has forgotten two tasks.
func withHistory(t testing.TB) (*fixture, *fakeEnded) {
	b, _ := newAdminFixture(t)
	past := &fakeEnded{}
	for cluster, id := range map[string]string{"lab": pastLab, "other": pastOther} {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster, Status: spec.ClusterActive}})
		code := 3
		past.tasks = append(past.tasks, ended.Task{Outcome: ended.Failed, Host: "gpu-1", Task: spec.Task{
			ID: id, Cluster: cluster, Definition: "train:1", HostID: hostID, LastStatus: spec.Stopped, DesiredStatus: spec.Stopped, StoppedReason: "Essential container in task exited",
			CreatedAt: epoch, Times: spec.TaskTimes{Started: epoch, Stopped: epoch}, Containers: []spec.Container{{ID: id, Name: "main", ExitCode: &code, LastStatus: spec.Stopped}}}})
	}
	b.config.Ended = past
	return b, past
}

func TestATaskThatTheStateHasForgottenIsShownFromTheHistory(t *testing.T) {
	b, past := withHistory(t)
	if got := b.rest("DescribeTasks", `{"cluster":"lab","tasks":["`+pastLab+`"]}`); !strings.Contains(got.Body.String(), `"exitCode":3`) {
		t.Errorf("DescribeTasks: %d %s", got.Code, got.Body)
	}
	for path, want := range map[string]string{
		"/v1/tasks/" + pastLab + "/logs?tail=1":    "",
		"/v1/history?outcome=failed&cluster=other": pastOther,
		"/v1/history?id=1a1a":                      pastLab,
		"/v1/usage?by=team&since=48h":              `"gpuSeconds":7200`,
	} {
		if got := b.get(path); got.Code != 200 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if since := past.usage.Since; !since.Equal(epoch.AddDate(0, 0, -2)) {
		t.Errorf("48 hours ago is %v", since)
	}
	b.config.Queue = &fakeQueue{}
	if got := b.get("/v1/tasks/" + pastLab + "/explain"); got.Code != 200 || !strings.Contains(got.Body.String(), "exit code 3") {
		t.Errorf("explain: %d %s", got.Code, got.Body)
	}
	for _, query := range []string{"outcome=lost", "limit=0", "limit=1001", "since=soon", "id=1a1a&limit=x"} {
		if got := b.get("/v1/history?" + query); got.Code != 400 {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
	if got := b.get("/v1/usage?by=host"); got.Code != 400 {
		t.Errorf("by host: %d %s", got.Code, got.Body)
	}
}

// A history that cannot be read takes nothing else with it.
func TestWithoutAHistoryTheRestIsAnswered(t *testing.T) {
	b, past := withHistory(t)
	past.err, past.tasks = errors.New("the disk is gone"), nil
	if got := b.rest("DescribeTasks", `{"cluster":"lab","tasks":["`+pastLab+`"]}`); got.Code != 200 || !strings.Contains(got.Body.String(), spec.ReasonMissing) {
		t.Errorf("DescribeTasks: %d %s", got.Code, got.Body)
	}
	if got := b.get("/v1/history"); got.Code == 200 {
		t.Errorf("/v1/history: %d %s", got.Code, got.Body)
	}
}

// A key for one cluster tries everything that shows the history of another one.
func TestAKeyForOneClusterSeesTheHistoryOfThatOneAlone(t *testing.T) {
	b, past := withHistory(t)
	b.config.Queue = &fakeQueue{}
	for _, path := range []string{"/v1/history", "/v1/history?cluster=lab", "/v1/history?cluster=other", "/v1/history?id=2b2b", "/v1/history?id=1a1a", "/v1/history?id=",
		"/v1/history?cluster=&outcome=failed", "/v1/history?cluster=lab&cluster=other", "/v1/tasks/" + pastOther + "/logs", "/v1/tasks/" + pastOther + "/explain"} {
		if got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", path, nil)).Body.String(); strings.Contains(got, pastOther) && !strings.Contains(got, "AccessDenied") {
			t.Errorf("%s shows a task of another cluster: %s", path, got)
		}
	}
	for _, body := range []string{`{"cluster":"lab","tasks":["` + pastOther + `"]}`, `{"cluster":"other","tasks":["` + pastOther + `"]}`} {
		if got := b.serveAs(t, accesskey.RoleRead, "lab", restRequest("DescribeTasks", body)).Body.String(); strings.Contains(got, `"exitCode"`) {
			t.Errorf("%s: %s", body, got)
		}
	}
	b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", "/v1/usage?by=team", nil))
	if past.usage.Allowed == nil || past.usage.Allowed("other", "") || !past.usage.Allowed("lab", "") {
		t.Error("the usage of other clusters is summed up")
	}
	if got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", "/v1/usage?cluster=other", nil)); got.Code == 200 {
		t.Errorf("the usage of another cluster: %s", got.Body)
	}
	if got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", "/v1/history", nil)).Body.String(); !strings.Contains(got, pastLab) {
		t.Errorf("its own history: %s", got)
	}
}

// A key for one team tries everything that shows the history of another one, in a cluster that both use.
func TestAKeyForOneTeamSeesTheHistoryOfThatOneAlone(t *testing.T) {
	b, past := withHistory(t)
	b.config.Queue = &fakeQueue{}
	for i := range past.tasks {
		past.tasks[i].Task.Cluster = "lab"
		past.tasks[i].Task.Tags = []spec.Tag{{Key: spec.TagTeam, Value: map[string]string{pastLab: "mine", pastOther: "theirs"}[past.tasks[i].Task.ID]}}
	}
	bearer := b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"mine"}}})
	ask := func(r *http.Request) string { return b.as(bearer, r).Body.String() }
	for _, path := range []string{"/v1/history", "/v1/history?cluster=lab", "/v1/history?team=theirs", "/v1/history?id=2b2b", "/v1/tasks/" + pastOther + "/logs", "/v1/tasks/" + pastOther + "/explain"} {
		if got := ask(httptest.NewRequest("GET", path, nil)); strings.Contains(got, pastOther) && !strings.Contains(got, "AccessDenied") || strings.Contains(got, "exit code") {
			t.Errorf("%s shows a task of another team: %s", path, got)
		}
	}
	if got := ask(restRequest("DescribeTasks", `{"cluster":"lab","tasks":["`+pastOther+`"]}`)); strings.Contains(got, `"exitCode"`) {
		t.Errorf("DescribeTasks: %s", got)
	}
	ask(httptest.NewRequest("GET", "/v1/usage?by=team", nil))
	if past.usage.Allowed == nil || past.usage.Allowed("lab", "theirs") || past.usage.Allowed("lab", "") || !past.usage.Allowed("lab", "mine") {
		t.Error("the usage of other teams is summed up")
	}
	if got := ask(httptest.NewRequest("GET", "/v1/history", nil)); !strings.Contains(got, pastLab) {
		t.Errorf("its own history: %s", got)
	}
}

func TestUsageCountsTasksThatRunWhenAsked(t *testing.T) {
	b := ready(t)
	past := &fakeEnded{}
	b.config.Ended = past
	b.reportRunning(t, path.Base(b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`).Tasks[0].ARN))
	if b.get("/v1/usage"); past.usage.Running != nil {
		t.Error("tasks that run are counted unasked")
	}
	if b.get("/v1/usage?running=true"); len(past.usage.Running) != 1 || past.usage.Now.IsZero() {
		t.Errorf("the tasks that run are %v, at %v", past.usage.Running, past.usage.Now)
	}
	if got := b.get("/v1/usage?running=perhaps"); got.Code != 400 {
		t.Errorf("running=perhaps: %d", got.Code)
	}
}

package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pinion/api/audit"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskrole"
)

// sealedForItsID opens what is sealed for the id of a key alone, as the keyring of servers does.
type sealedForItsID struct{ *fakeKeyStore }

func (s sealedForItsID) KeySecret(key *accesskey.Key) (string, error) {
	if key.Sealed == nil {
		return key.Secret, nil
	}
	id, secret, _ := strings.Cut(string(key.Sealed), " ")
	if id != key.ID || key.Seal != "key" {
		return "", errors.New("what is sealed was changed")
	}
	return secret, nil
}

const (
	taskOfRole = "00112233445566778899aabbccddeeff"
	hostOfLab  = "aaaa00000000000000000000000000ff"
)

// newRoles is a pool with the clusters default and lab, the roles boss, watcher and helper, each made by an administrator, and a task of helper in lab.
func newRoles(t *testing.T) *fixture {
	b := ready(t)
	b.config.Admin.Keys = sealedForItsID{&fakeKeyStore{fakeStore: b.fakeStore}}
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	host := *b.state.View().Host(hostID)
	host.ID, host.Name, host.Cluster = hostOfLab, "lab1", "lab"
	b.mustApply(t, raftfsm.PutHost{Host: host})
	for _, role := range []string{`{"name":"boss","role":"admin"}`, `{"name":"watcher","role":"read"}`, `{"name":"helper","role":"submit","cluster":"lab"}`} {
		if got := b.rest("admin/roles", role); got.Code != 200 {
			t.Fatalf("%s: %d %s", role, got.Code, got.Body)
		}
	}
	for _, role := range []string{"boss", "helper"} {
		b.must(t, "RegisterTaskDefinition", definitionOf("of-"+role, role))
	}
	task := &spec.Task{ID: taskOfRole, Cluster: "lab", Definition: "of-helper:1", HostID: hostOfLab, LastStatus: spec.Running, DesiredStatus: spec.Running, Containers: []spec.Container{{Name: "c"}}}
	b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "lab", Tasks: []*spec.Task{task}}}})
	return b
}

func definitionOf(family, role string) string {
	return `{"family":"` + family + `","taskRoleArn":"arn:aws:iam::123456789012:role/` + role + `","containerDefinitions":[{"name":"c","image":"i","memory":64}],"tags":[{"key":"pinion.share","value":"lab"}]}`
}

// Whoever has a task run, or acts in one, gets no right by its role that they do not have themselves.
func TestARoleIsGivenByThoseWhoMayDoAllThatItMay(t *testing.T) {
	b := newRoles(t)
	b.must(t, "CreateService", `{"serviceName":"of-boss","cluster":"lab","taskDefinition":"of-boss","desiredCount":0}`)
	bearer := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleSubmit, Cluster: "lab"})
	b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "lab", Tasks: []*spec.Task{{
		ID: strings.Repeat("b", 32), Cluster: "lab", Definition: "of-boss:1", HostID: hostOfLab, LastStatus: spec.Running, DesiredStatus: spec.Running, Exec: true, Containers: []spec.Container{{Name: "c", LastStatus: spec.Running}}}}}}})
	const service = `"serviceName":"s","cluster":"lab","taskDefinition":`
	if got := b.as(bearer, restRequest("CreateService", `{`+service+`"of-helper","desiredCount":0}`)); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	for what, c := range map[string]struct{ operation, body string }{
		"a definition":          {"RegisterTaskDefinition", definitionOf("mine", "boss")},
		"a definition, by name": {"RegisterTaskDefinition", strings.ReplaceAll(definitionOf("mine", "boss"), "arn:aws:iam::123456789012:role/", "")},
		"one that reads more":   {"RegisterTaskDefinition", definitionOf("mine", "watcher")},
		"a task":                {"RunTask", `{"cluster":"lab","taskDefinition":"of-boss"}`},
		"a task on a host":      {"StartTask", `{"cluster":"lab","taskDefinition":"of-boss","containerInstances":["` + hostOfLab + `"]}`},
		"an override":           {"RunTask", `{"cluster":"lab","taskDefinition":"of-helper","overrides":{"taskRoleArn":"boss"}}`},
		"an override, likewise": {"StartTask", `{"cluster":"lab","taskDefinition":"of-helper","containerInstances":["` + hostOfLab + `"],"overrides":{"taskRoleArn":"arn:aws:iam::1:role/path/boss"}}`},
		"the same deployment":   {"UpdateService", `{"service":"of-boss","cluster":"lab","forceNewDeployment":true}`},
		"a service":             {"CreateService", `{"serviceName":"other","cluster":"lab","taskDefinition":"of-boss","desiredCount":1}`},
		"a deployment":          {"UpdateService", `{"service":"s","cluster":"lab","taskDefinition":"of-boss"}`},
		"a daemon's definition": {"RegisterDaemonTaskDefinition", `{"family":"d","taskRoleArn":"boss","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`},
		"a command":             {"tasks/" + strings.Repeat("b", 32) + "/exec", `{"command":["env"]}`},
		"a command, by AWS":     {"ExecuteCommand", `{"cluster":"lab","task":"` + strings.Repeat("b", 32) + `","command":"env","interactive":true}`},
		"a role of its own":     {"admin/roles", `{"name":"mine","role":"read"}`},
	} {
		if got := b.as(bearer, restRequest(c.operation, c.body)); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	for what, c := range map[string]struct{ operation, body string }{
		"a role that may as much": {"RegisterTaskDefinition", definitionOf("mine", "helper")},
		"no role of the pool":     {"RegisterTaskDefinition", definitionOf("mine", "ecsTaskRole")},
		"a task":                  {"RunTask", `{"cluster":"lab","taskDefinition":"of-helper"}`},
	} {
		if got := b.as(bearer, restRequest(c.operation, c.body)); got.Code != 200 {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	if got := b.as(bearer, httptest.NewRequest("GET", "/v1/roles", nil)).Body.String(); !strings.Contains(got, "helper") || strings.Contains(got, "boss") || strings.Contains(got, "watcher") {
		t.Errorf("the roles that the key may give: %s", got)
	}
}

// A role that is made later is not that of definitions and tasks which have named it before: somebody could wait for an administrator to make it.
func TestARoleOfTheSameNameIsAnotherRole(t *testing.T) {
	b := newRoles(t)
	b.must(t, "RegisterTaskDefinition", definitionOf("early", "later"))
	if got := b.rest("admin/roles", `{"name":"later","role":"admin"}`); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if definition := b.state.View().Definition("early:1"); definition.TaskRoleID != "" {
		t.Errorf("the definition has the role %s", definition.TaskRoleID)
	}
	b.rest("admin/roles/remove", `{"name":"helper"}`)
	b.rest("admin/roles", `{"name":"helper","role":"admin"}`)
	if role := taskrole.OfTask(b.state.View(), taskOfRole); role != nil {
		t.Errorf("the task has the role %+v", role)
	}
}

// withSecurityToken is a request with the key of the task, as a client of it sends one.
func (b *fixture) withSecurityToken(t *testing.T, expires time.Time, change func(id, token string) (string, string), r *http.Request) reply {
	t.Helper()
	b.config.Trusted = false
	defer func() { b.config.Trusted = true }()
	id, known := taskrole.NewKeyID(taskOfRole, expires)
	if !known {
		t.Fatal(id)
	}
	token := taskrole.EncodeSecurityToken([]byte(id+" "+secret), "key")
	if change != nil {
		id, token = change(id, token)
	}
	r.Header.Set("X-Amz-Security-Token", token)
	return b.as("Bearer "+id+":"+secret, r)
}

func listTasks(cluster string) *http.Request {
	return restRequest("ListTasks", `{"cluster":"`+cluster+`"}`)
}

func TestATaskActsWithTheRightsOfItsRole(t *testing.T) {
	b := newRoles(t)
	entries := b.audited(t)
	hour := epoch.Add(time.Hour)
	use := func(r *http.Request) reply { return b.withSecurityToken(t, hour, nil, r) }
	if got := use(listTasks("lab")); got.Code != 200 || !strings.Contains(got.Body.String(), taskOfRole) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	const arn = "arn:aws:sts::" + spec.AccountID + ":assumed-role/helper/" + taskOfRole
	if got := use(httptest.NewRequest("GET", "/v1/whoami", nil)).Body.String(); !strings.Contains(got, `"arn":"`+arn+`"`) || !strings.Contains(got, `"role":"submit","cluster":"lab"`) {
		t.Errorf("whoami: %s", got)
	}
	identity := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"Action": {"GetCallerIdentity"}}.Encode()))
	identity.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := use(identity).Body.String(); !strings.Contains(got, "<Arn>"+arn+"</Arn>") || !strings.Contains(got, "<UserId>AROA") {
		t.Errorf("GetCallerIdentity: %s", got)
	}
	use(listTasks("default")).wantType(t, wire.AccessDenied)
	use(httptest.NewRequest("GET", "/v1/admin/keys", nil)).wantType(t, wire.AccessDenied)
	if got := entries(); len(got) == 0 || got[0].Principal != arn || got[0].Outcome != audit.Refused {
		t.Errorf("the audit log: %+v", got)
	}

	// What it has made counts for the role, and it runs no more than the role may.
	if got := use(restRequest("RegisterTaskDefinition", definitionOf("theirs", "helper"))); got.Code != 200 || b.state.View().KeyTally("role/helper").Revisions != 1 {
		t.Errorf("%d %s: %+v", got.Code, got.Body, b.state.View().KeyTally("role/helper"))
	}
	use(restRequest("RegisterTaskDefinition", definitionOf("theirs", "boss"))).wantType(t, wire.AccessDenied)
	if got := b.rest("admin/roles", `{"name":"helper","role":"read","cluster":"lab"}`); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	use(restRequest("RegisterTaskDefinition", definitionOf("theirs", "helper"))).wantType(t, wire.AccessDenied)
}

func TestTokensThatDoNotCount(t *testing.T) {
	const unknown = "UnrecognizedClientException"
	hour, early := epoch.Add(time.Hour), epoch
	foreign, _ := taskrole.NewKeyID(strings.Repeat("1", 32), hour)
	later, _ := taskrole.NewKeyID(taskOfRole, hour.Add(time.Hour))
	for what, c := range map[string]struct {
		expires time.Time
		change  func(id, token string) (string, string)
		before  func(b *fixture)
		want    string
	}{
		"after its end":     {early, nil, nil, wire.ExpiredSecurityToken},
		"of another task":   {hour, func(_, token string) (string, string) { return foreign, token }, nil, unknown},
		"with a later end":  {hour, func(_, token string) (string, string) { return later, token }, nil, unknown},
		"changed":           {hour, func(id, token string) (string, string) { return id, token[:len(token)-2] + "AA" }, nil, unknown},
		"cut":               {hour, func(id, token string) (string, string) { return id, token[:6] }, nil, unknown},
		"sealed by others":  {hour, func(id, token string) (string, string) { return id, "x" + token }, nil, unknown},
		"none":              {hour, func(id, _ string) (string, string) { return id, "" }, nil, unknown},
		"of a removed role": {hour, nil, func(b *fixture) { b.rest("admin/roles/remove", `{"name":"helper"}`) }, unknown},
		"of a role made anew": {hour, nil, func(b *fixture) {
			b.rest("admin/roles/remove", `{"name":"helper"}`)
			b.rest("admin/roles", `{"name":"helper","role":"submit","cluster":"lab"}`)
		}, unknown},
		"of a task that has stopped": {hour, nil, func(b *fixture) {
			b.mustApply(t, raftfsm.ReportTasks{HostID: hostOfLab, Reports: []spec.TaskReport{{TaskID: taskOfRole, Status: spec.Stopped}}})
		}, unknown},
	} {
		b := newRoles(t)
		if c.before != nil {
			c.before(b)
		}
		if got := b.withSecurityToken(t, c.expires, c.change, listTasks("lab")); got.Header().Get("X-Amzn-ErrorType") != c.want {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
}

// The key of a task is no record that could be removed: to say that it was would be a lie.
func TestTheKeyOfATaskEndsWithItsTaskOrItsRole(t *testing.T) {
	b := newRoles(t)
	id, _ := taskrole.NewKeyID(taskOfRole, epoch.Add(time.Hour))
	if got := b.rest("admin/keys/remove", `{"id":"`+id+`"}`); got.Code == 200 || !strings.Contains(got.Body.String(), "helper") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if b.state.View().AccessKey(id) == nil {
		t.Error("the key is gone, and its task has its role")
	}
}

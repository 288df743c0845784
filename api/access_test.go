package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/ecs"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// serveAs sends a request with a key of that role, bound to that cluster.
func (b *fixture) serveAs(t testing.TB, role accesskey.Role, cluster string, r *http.Request) reply {
	t.Helper()
	b.config.Trusted = false
	id := strings.ToUpper("AKIA" + string(role) + cluster)
	b.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: id, Secret: secret, Role: role, Cluster: cluster, CreatedAt: epoch}}))
	r.Header.Set("Authorization", "Bearer "+id+":"+secret)
	return b.serve(r)
}

func restRequest(operation, body string) *http.Request {
	return httptest.NewRequest("POST", "/v1/"+operation, strings.NewReader(body))
}

// requiredRoles are the operations and routes with the least role that may call each.
func requiredRoles() map[string]accesskey.Role {
	all := map[string]accesskey.Role{}
	for name, operation := range ecs.Operations {
		all["POST /v1/"+name] = operation.Role
	}
	for _, line := range allRoutes() {
		all[line.Method+" "+line.Path] = line.Role
	}
	return all
}

func TestEveryLineOfTheTablesHoldsItsRole(t *testing.T) {
	for line, needed := range requiredRoles() {
		method, path, _ := strings.Cut(line, " ")
		for _, role := range []accesskey.Role{"reader", accesskey.RoleRead, accesskey.RoleSubmit, accesskey.RoleAdmin} {
			b, _ := newAdminFixture(t)
			got := b.serveAs(t, role, "", httptest.NewRequest(method, path, strings.NewReader("{}")))
			denied := got.Header().Get("X-Amzn-ErrorType") == wire.AccessDenied
			if allowed := needed == "" || role.May(needed); denied == allowed {
				t.Errorf("%s needs %q; %s: %d %s", line, needed, role, got.Code, got.Body)
			}
		}
	}
}

// What only an admin may ask for is decided where the task is placed, by the role of the key that ran it.
func TestARunSaysWhetherAnAdminAskedForIt(t *testing.T) {
	for role, want := range map[accesskey.Role]bool{accesskey.RoleAdmin: true, accesskey.RoleSubmit: false} {
		for operation, more := range map[string]string{"RunTask": "", "StartTask": `,"containerInstances":["` + hostID + `"]`} {
			b := ready(t)
			if got := b.serveAs(t, role, "", restRequest(operation, `{"taskDefinition":"tensorflow-1-gpu"`+more+`}`)); got.Code != http.StatusOK {
				t.Errorf("%s: %d %s", operation, got.Code, got.Body)
			}
			if b.asked.ByAdmin != want {
				t.Errorf("%s with the role %s: by an admin %t", operation, role, b.asked.ByAdmin)
			}
		}
	}
}

func TestARefusalNamesTheRoleInTheFormOfTheProtocol(t *testing.T) {
	b := newFixture(t)
	const message = "arn:aws:iam::123456789012:user/AKIAREAD may not do RunTask: its access key has the role read, and this needs the role submit. An administrator makes such a key: `pinion key create --role submit`."
	b.serveAs(t, accesskey.RoleRead, "", restRequest("RunTask", `{"taskDefinition":"f"}`)).wantError(t, 403, wire.AccessDenied, message)
	r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.RunTask")
	b.serveAs(t, accesskey.RoleRead, "", r).wantError(t, 400, wire.AccessDenied, message)
}

func TestAKeyForOneClusterMayNameThatOneAlone(t *testing.T) {
	b, _ := newAdminFixture(t)
	for _, cluster := range []string{"lab", "other"} {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster, Status: spec.ClusterActive}})
	}
	b.mustApply(t, registerCommand(t))
	b.run(t, `{"taskDefinition":"f"}`) // in the default cluster
	const task = firstTask
	const arn = "arn:aws:ecs:us-east-1:123456789012:"
	for _, c := range []struct {
		role      accesskey.Role
		operation string
		body      string
		allowed   bool
	}{
		{accesskey.RoleRead, "ListTasks", `{"cluster":"lab"}`, true},
		{accesskey.RoleRead, "ListTasks", `{"cluster":"` + arn + `cluster/lab"}`, true},
		{accesskey.RoleRead, "ListTasks", `{"cluster":"other"}`, false},
		{accesskey.RoleRead, "ListTasks", `{"cluster":"` + arn + `cluster/other"}`, false},
		{accesskey.RoleRead, "ListTasks", `{}`, false}, // that is the default cluster
		{accesskey.RoleRead, "DescribeClusters", `{"clusters":["lab"]}`, true},
		{accesskey.RoleRead, "DescribeClusters", `{"clusters":["lab","other"]}`, false},
		{accesskey.RoleRead, "DescribeClusters", `{}`, false},
		{accesskey.RoleRead, "DescribeTaskDefinition", `{"taskDefinition":"f"}`, false}, // registered with a key for all clusters
		{accesskey.RoleSubmit, "RegisterTaskDefinition", oneGPU, true},
		{accesskey.RoleSubmit, "RunTask", `{"taskDefinition":"f"}`, false},
		{accesskey.RoleSubmit, "StopTask", `{"task":"` + task + `"}`, false},
		{accesskey.RoleAdmin, "CreateCluster", `{"clusterName":"mine"}`, false},
		{accesskey.RoleAdmin, "CreateCluster", `{"clusterName":"lab"}`, true},
		{accesskey.RoleAdmin, "admin/tokens", `{}`, false},
		{accesskey.RoleAdmin, "admin/keys", `{"role":"admin"}`, false},
	} {
		got := b.serveAs(t, c.role, "lab", restRequest(c.operation, c.body))
		if denied := got.Header().Get("X-Amzn-ErrorType") == wire.AccessDenied; denied == c.allowed {
			t.Errorf("%s %s: %d %s", c.operation, c.body, got.Code, got.Body)
		}
	}
	if got := b.serveAs(t, accesskey.RoleRead, "lab", restRequest("ListClusters", "{}")).Body.String(); got != `{"clusterArns":["`+arn+`cluster/lab"]}` {
		t.Errorf("the clusters that the key may know of: %s", got)
	}
	for path, want := range map[string]string{
		"/v1/hosts": "[]", "/v1/gpus?cluster=lab": "[]", "/v1/hosts?cluster=default": wire.AccessDenied, "/v1/gpus?cluster=other": wire.AccessDenied,
		"/v1/tasks/" + task + "/logs": wire.AccessDenied,
	} {
		if got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", path, nil)); !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// countingStore counts the views that a quorum must confirm.
type countingStore struct {
	Store
	views *int
}

func (c countingStore) View(ctx context.Context) (*raftfsm.View, error) {
	*c.views++
	return c.Store.View(ctx)
}

func TestARequestWithoutAKeyCostsTheLeaderNoQuorum(t *testing.T) {
	b := newFixture(t)
	asked := 0
	b.config.Trusted, b.config.Leader, b.config.Local = false, fakeLeadership(selfLeads), fixedState{view: b.state.View()}
	b.config.Store = countingStore{b.fakeStore, &asked}
	for _, header := range []string{"", "Bearer nobody:x", "Bearer " + keyID + ":wrong", "Basic x",
		strings.Replace(signed(t, "ListTasks", "{}", epoch).Header.Get("Authorization"), keyID, "AKIANOBODY", 1)} {
		r := signed(t, "ListTasks", "{}", epoch)
		r.Header.Set("Authorization", header)
		if got := b.serve(r); got.Code != 400 || asked > 0 {
			t.Errorf("%q: %d %s, %d questions", header, got.Code, got.Body, asked)
		}
	}
	for range 2 {
		if got := b.get("/healthz"); got.Code != 200 || asked > 0 {
			t.Errorf("healthz: %d, %d questions", got.Code, asked)
		}
	}
	if got := b.serve(signed(t, "ListTasks", "{}", epoch)); got.Code != 200 || asked != 1 {
		t.Errorf("%d %s, %d questions", got.Code, got.Body, asked)
	}
}

func TestARequestWithoutAKeyIsNotForwarded(t *testing.T) {
	way := &fakeTransport{failBefore: func(int) error { return errors.New("forwarded") }}
	b := newFollowerFixture(t, way, remoteLeads("gpu-1:7400"))
	b.config.Trusted = false
	if got := b.rest("ListTasks", "{}"); got.Code != 400 || way.count > 0 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// The leader's own copy may be older than the removal by the moment that the other servers need to confirm it.
func TestAKeyThatWasRemovedIsRefusedAtOnce(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted, b.config.Leader, b.config.Local = false, fakeLeadership(selfLeads), fixedState{view: b.state.View()}
	b.mustApply(t, raftfsm.Wrap(credential.Delete{ID: keyID}))
	b.serve(signed(t, "ListTasks", "{}", epoch)).wantError(t, 400, "UnrecognizedClientException", fmt.Sprintf("The access key %s was removed.", keyID))
	b.config.Local = nil
	if got := b.serve(signed(t, "ListTasks", "{}", epoch)); got.Header().Get("X-Amzn-ErrorType") != "UnrecognizedClientException" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

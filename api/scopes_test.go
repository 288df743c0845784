package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/autoscaling"
	"pinion/api/cloudwatch"
	"pinion/api/cloudwatchlogs"
	"pinion/api/ecs"
	"pinion/api/elb"
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/secretsmanager"
	"pinion/api/ssm"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// table is one table of operations or routes that need a key.
type table struct {
	names    []string
	endpoint func(name string) *endpoint
	request  func(name, body string) *http.Request // of a route, the body is its query
}

// tables are all tables.
func tables() map[string]table {
	shared := NewShared()
	o := newOperationEndpoints(Config{Shared: shared}, &cloudwatchlogs.Handler{}, &exec.Service{})
	routes, byName := newRoutes(Config{Shared: shared}, &httpx.Peers{}, o), map[string]rest.Route{}
	for _, route := range routes.keyed {
		byName[nameOf(route)] = route
	}
	byForm := map[string]*endpoint{"GetCallerIdentity": &identity, "DescribeNetworkInterfaces": &networkInterfaces}
	formVersions := map[string]string{"GetCallerIdentity": "2011-06-15", "DescribeNetworkInterfaces": ec2Version}
	return map[string]table{
		"ecs":            {slices.Sorted(maps.Keys(ecs.Operations)), func(name string) *endpoint { return o.find(name, &o.awsJSON) }, target(ecs.Target)},
		"autoscaling":    {slices.Sorted(maps.Keys(autoscaling.Operations)), func(name string) *endpoint { return o.autoScaling(name, wire.Lenient) }, target(autoscaling.Target)},
		"cloudwatch":     {slices.Sorted(maps.Keys(cloudwatch.Operations)), func(name string) *endpoint { return o.alarms(name, cloudwatch.JSON) }, target(cloudwatch.Target)},
		"logs":           {slices.Sorted(maps.Keys(cloudwatchlogs.Operations)), o.cloudWatchLogs, target(cloudwatchlogs.Target)},
		"ssm":            {ssm.Names(), func(name string) *endpoint { return o.parameters(name, wire.Lenient) }, target(ssm.Target)},
		"secretsmanager": {secretsmanager.Names(), func(name string) *endpoint { return o.secrets(name, wire.Lenient) }, target(secretsmanager.Target)},
		"sessions":       {[]string{"ResumeSession", exec.Terminate}, o.systemsManager, target(exec.SSMTarget)},
		"elb": {slices.Sorted(maps.Keys(elb.Operations)), o.loadBalancing, func(name, body string) *http.Request {
			return formRequest(name, elb.Version, body)
		}},
		"forms": {slices.Sorted(maps.Keys(byForm)), func(name string) *endpoint { return byForm[name] }, func(name, body string) *http.Request {
			return formRequest(name, formVersions[name], body)
		}},
		"routes": {slices.Sorted(maps.Keys(byName)), func(name string) *endpoint { return new(chain).endpointOf(byName[name]) }, func(name, query string) *http.Request {
			method, path, _ := strings.Cut(name, " ")
			return httptest.NewRequest(method, path+"?"+query, strings.NewReader("{}"))
		}},
	}
}

// target makes requests of AWS's JSON protocol.
func target(service string) func(name, body string) *http.Request {
	return func(name, body string) *http.Request { return ofService("", service+"."+name, body) }
}

func formRequest(action, version, more string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader("Action="+action+"&Version="+version+"&"+more))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func eachLine(test func(of, name string, d table, e *endpoint)) {
	for called, d := range tables() {
		for _, name := range d.names {
			test(called, name, d, d.endpoint(name))
		}
	}
}

// authorized is what authorization says to an administrator of one cluster.
func authorized(e *endpoint) error {
	of := leader.Resolution{Principal: auth.Principal{ARN: "me", Role: accesskey.RoleAdmin, Clusters: "lab"}}
	r := &request{Exchange: &httpx.Exchange{Request: httptest.NewRequest("GET", "/", nil)}, Resolution: of, endpoint: e}
	return authorize(r, func(*request) error { return nil })
}

func isDenied(err error) bool {
	refusal, ok := errors.AsType[*wire.Error](err)
	return ok && refusal.Type == wire.AccessDenied
}

// Each line of each table says which clusters its calls are about. One that does not is refused to keys for some clusters, as is one about the
// whole pool.
func TestEveryLineOfTheTablesHasAScope(t *testing.T) {
	eachLine(func(of, name string, _ table, e *endpoint) {
		if e.unknown != nil || !e.scope.Names() {
			t.Errorf("%s of %s has no scope: %v", name, of, e.unknown)
		}
		if denied := isDenied(authorized(e)); denied != (e.scope.IsPoolWide()) {
			t.Errorf("%s of %s: refused %t", name, of, denied)
		}
		forgotten := *e
		forgotten.scope = auth.Scope{}
		if !isDenied(authorized(&forgotten)) {
			t.Errorf("%s of %s without a scope is answered", name, of)
		}
	})
}

// valuesOf are the values of members about one cluster, with which a line names it or what is in it.
var valuesOf = map[string]string{
	"cluster": "%s", "clusters": "%s", "clusterName": "%s", "clusterArn": arnOfECS + "cluster/%s", "resourceArn": arnOfECS + "cluster/%s",
	"serviceDeploymentArn": arnOfECS + "service-deployment/%s/web/d", "serviceDeploymentArns": arnOfECS + "service-deployment/%s/web/d", "serviceRevisionArns": arnOfECS + "service-revision/%s/web/r",
	"serviceArn": arnOfECS + "service/%s/web", "daemonArn": arnOfECS + "daemon/%s/d", "daemonDeploymentArns": arnOfECS + "daemon-deployment/%s/d/x", "daemonRevisionArns": arnOfECS + "daemon-revision/%s/d/x",
	"family": "of-%s", "taskDefinition": "of-%s", "taskDefinitions": "of-%s:1", "daemonTaskDefinition": "of-%s", "daemonTaskDefinitionArn": arnOfECS + "daemon-task-definition/of-%s:1",
	"ResourceId": "service/%s/web",
}

const arnOfECS = "arn:aws:ecs:us-east-1:" + spec.AccountID + ":"

// naming is the input of a line whose members are about the cluster lab, and one of them about another.
func naming(t *testing.T, d table, name string, members []string, other string) *http.Request {
	input, query := map[string]any{"ServiceNamespace": "ecs", "ScalableDimension": "ecs:service:DesiredCount"}, url.Values{}
	for _, member := range members {
		form, known := valuesOf[member]
		if !known {
			t.Fatalf("%s: which values are those of %s?", name, member)
		}
		value := fmt.Sprintf(form, "lab")
		if member == other {
			value = fmt.Sprintf(form, "theirs")
		}
		input[member] = value
		if strings.HasSuffix(member, "s") {
			input[member] = []string{value}
		}
		query.Set(member, value)
	}
	body, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, " ") {
		return d.request(name, query.Encode())
	}
	return d.request(name, string(body))
}

// A key for one cluster names another by each member that a line has for it.
func TestALineThatNamesAClusterIsRefusedToKeysForOthers(t *testing.T) {
	b, _ := newAdminFixture(t)
	keys := map[string]string{}
	for _, cluster := range []string{"lab", "theirs"} {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster, Status: spec.ClusterActive}})
		keys[cluster] = b.withKey(t, accesskey.Key{ID: strings.ToUpper("AKIA" + cluster), Role: accesskey.RoleAdmin, Cluster: cluster})
		for _, body := range []string{`RegisterTaskDefinition {"family":"of-` + cluster + `","containerDefinitions":[{"name":"c","image":"i","memory":6}]}`,
			`RegisterDaemonTaskDefinition {"family":"of-` + cluster + `","cpu":"256","memory":"128","containerDefinitions":[{"name":"c","image":"i"}]}`} {
			name, input, _ := strings.Cut(body, " ")
			if got := b.as(keys[cluster], awsRequest(name, input)); got.Code != 200 {
				t.Fatalf("%s: %s", body, got.Body)
			}
		}
	}
	attacked := 0
	eachLine(func(of, name string, d table, e *endpoint) {
		clusters, families := e.scope.Members()
		members := slices.Concat(clusters, families)
		for _, other := range append(members, "") {
			if len(members) == 0 {
				continue
			}
			got := b.as(keys["lab"], naming(t, d, name, members, other))
			if denied := got.Header().Get("X-Amzn-ErrorType") == wire.AccessDenied; denied != (other != "") {
				t.Errorf("%s of %s with %q of another cluster: %d %s", name, of, other, got.Code, got.Body)
			}
			attacked++
		}
	})
	if attacked < 150 {
		t.Errorf("%d attacks", attacked)
	}
}

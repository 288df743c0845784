package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// serviceDocument is the service web with deployments, the PRIMARY one first.
func serviceDocument(status string, running int, deployments ...string) string {
	return fmt.Sprintf(`{"serviceArn":"arn:aws:ecs:us-east-1:123456789012:service/default/web","serviceName":"web","status":%q,"schedulingStrategy":"REPLICA","desiredCount":2,
		"runningCount":%d,"pendingCount":0,"taskDefinition":"x/web:2","currentServiceDeployment":"x/now","createdAt":1748779020,"deployments":[%s],
		"events":[{"id":"e%d","createdAt":1748779200,"message":"(service web) has %d tasks."}]}`, status, running, strings.Join(deployments, ","), running, running)
}

func deploymentDocument(id, definition, state string, running int) string {
	return fmt.Sprintf(`{"id":%q,"status":"PRIMARY","taskDefinition":"x/%s","desiredCount":2,"runningCount":%d,"rolloutState":%q,"rolloutStateReason":"tasks failed to start."}`, id, definition, running, state)
}

var (
	beginning = serviceDocument("ACTIVE", 1, deploymentDocument("2", "web:2", "IN_PROGRESS", 1), deploymentDocument("1", "web:1", "COMPLETED", 1))
	steady    = serviceDocument("ACTIVE", 2, deploymentDocument("2", "web:2", "COMPLETED", 2))
	failed    = serviceDocument("ACTIVE", 0, deploymentDocument("2", "web:2", "FAILED", 0))
	back      = serviceDocument("ACTIVE", 2, deploymentDocument("1", "web:1", "COMPLETED", 2))
	gone      = serviceDocument("INACTIVE", 0)
)

// withService answers about the service web: first as it begins, then what follows, the last one for ever.
func withService(t *testing.T, follows ...string) *fakeHost {
	h := newFakeHost(t)
	answer := `{"service":` + beginning + `}`
	for _, operation := range []string{"CreateService", "UpdateService"} {
		h.operations[operation] = always(answer)
	}
	h.operations["DescribeServices"] = func(map[string]any) any {
		now := follows[0]
		follows = follows[min(1, len(follows)-1):]
		return `{"services":[` + now + `]}`
	}
	h.operations["ListServices"] = always(`{"serviceArns":["x/web"]}`)
	h.operations["DescribeServiceDeployments"] = always(`{"serviceDeployments":[{"status":"IN_PROGRESS"}]}`)
	h.operations["DescribeTaskDefinition"] = func(in map[string]any) any {
		if in["taskDefinition"] != "web:2" && in["taskDefinition"] != "trainer" {
			return errorReply{400, "ClientException", "Unable to describe task definition."}
		}
		return `{"taskDefinition":{"family":"web","revision":2,"status":"ACTIVE","registeredAt":1.5,"cpu":"1024","containerDefinitions":[{"name":"main","image":"my/server:1","memory":64}]},"tags":[{"key":"cost","value":"ml"}]}`
	}
	h.operations["RegisterTaskDefinition"] = always(`{"taskDefinition":{"family":"web","revision":3}}`)
	return h
}

// body is the last input of an operation.
func (h *fakeHost) body(t *testing.T, operation string) (in map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.bodies[operation]), &in); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return in
}

// A task that a service has made may wait in the queue.
func TestAServiceDoesNotSayThatATaskHasStartedBeforeItHas(t *testing.T) {
	h := withService(t, strings.Replace(steady, "has 2 tasks.", "has started 2 tasks: (task 1) (task 2).", 1))
	if got := pinion(t, h, "service", "events", "web"); !strings.Contains(got.out, "(service web) has made 2 tasks: (task 1)") {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "service", "events", "web", "-o", "json"); !strings.Contains(got.out, "has started 2 tasks:") {
		t.Errorf("programs get ECS's words: %+v", got)
	}
}

func TestAServiceIsCreatedAndFollowed(t *testing.T) {
	h := withService(t, beginning, beginning, steady)
	got := pinion(t, h, strings.Fields("service create --name web --replicas 2 --gpus 1 --grace 10m --team vision --rollout wait --min-healthy 50 -p 80 my/server -- serve")...)
	if got.code != 0 || got.out != "web\n" || strings.Count(got.err, "web:2 1 of 2 run; web:1 1 run") != 1 || !strings.Contains(got.err, "(service web) has 2 tasks.") {
		t.Errorf("%+v", got)
	}
	in := h.body(t, "CreateService")
	tags, _ := json.Marshal(in["tags"])
	deployment, _ := json.Marshal(in["deploymentConfiguration"])
	if in["desiredCount"] != 2.0 || in["healthCheckGracePeriodSeconds"] != 600.0 || in["taskDefinition"] != "web:3" ||
		string(tags) != `[{"key":"pinion.team","value":"vision"},{"key":"pinion.rollout","value":"wait"}]` ||
		string(deployment) != `{"deploymentCircuitBreaker":{"enable":true,"rollback":true},"minimumHealthyPercent":50}` {
		t.Errorf("%v", in)
	}
	if registered := h.body(t, "RegisterTaskDefinition"); registered["family"] != "service-web" {
		t.Errorf("%v", registered)
	}
}

// A new image is a new revision of what the service runs, which keeps all else.
func TestAServiceGetsAnotherImage(t *testing.T) {
	h := withService(t, steady)
	if got := pinion(t, h, "service", "update", "web", "--image", "my/server:2", "-d"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	checkEqual(t, "the new revision", h.bodies["RegisterTaskDefinition"], `{"containerDefinitions":[{"image":"my/server:2","memory":64,"name":"main"}],"cpu":"1024","family":"web","tags":[{"key":"cost","value":"ml"}]}`)
	if in := h.body(t, "UpdateService"); in["taskDefinition"] != "web:3" {
		t.Errorf("%v", in)
	}
}

// Where no rollout is in progress, what another one that succeeded had deployed is deployed again.
func TestAServiceGoesBack(t *testing.T) {
	h := withService(t, steady)
	h.operations["StopServiceDeployment"] = always(errorReply{400, "ConflictException", "not in progress"})
	h.operations["ListServiceDeployments"] = always(`{"serviceDeployments":[{"targetServiceRevisionArn":"x/2"},{"targetServiceRevisionArn":"x/1"}]}`)
	h.operations["DescribeServiceRevisions"] = func(in map[string]any) any {
		id := strings.TrimPrefix(in["serviceRevisionArns"].([]any)[0].(string), "x/")
		return `{"serviceRevisions":[{"taskDefinition":"x/web:` + id + `"}]}`
	}
	if got := pinion(t, h, "service", "rollback", "web", "-d"); got.code != 0 || h.body(t, "UpdateService")["taskDefinition"] != "x/web:1" {
		t.Errorf("%+v", got)
	}
	h.operations["StopServiceDeployment"] = always(`{}`)
	if got := pinion(t, h, "service", "rollback", "web", "-d"); got.code != 0 || h.callCount("UpdateService") != 1 {
		t.Errorf("in progress: %+v", got)
	}
}

func TestAServiceIsScaledAndRemoved(t *testing.T) {
	h := withService(t, serviceDocument("DRAINING", 1), gone)
	h.operations["DeleteService"] = always(`{"service":` + serviceDocument("DRAINING", 2) + `}`)
	if got := pinion(t, h, "service", "scale", "web=4", "-d"); got.code != 0 || h.body(t, "UpdateService")["desiredCount"] != 4.0 {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "service", "rm", "web"); got.code != 0 || got.out != "web\n" || h.body(t, "DeleteService")["force"] != true || !strings.Contains(got.err, "waiting for 2 tasks to stop") || !strings.Contains(got.err, "waiting for 1 task to stop") {
		t.Errorf("%+v", got)
	}
}

func TestTheEventsOfAServiceAreShownOnce(t *testing.T) {
	h := withService(t, steady)
	got := pinion(t, h, "service", "events", "web", "--utc")
	checkEqual(t, "events", got.out, "2025-06-01 12:00:00Z  (service web) has 2 tasks.\n")
	if got := pinion(t, h, "service", "ls", "-q"); got.out != "web\n" {
		t.Errorf("%+v", got)
	}
}

func TestWrongLinesAboutServices(t *testing.T) {
	h := withService(t, steady)
	for line, says := range map[string]string{
		"service scale web":                           "is not SERVICE=N",
		"service update web":                          "say what is to change",
		"service update web --image a --definition b": "one of the two",
		"service create --daemon --replicas 2 a/b":    "one of the two",
		"service create --gpus 1 trainer":             "is a part of the task definition",
		"service create --grace soon a/b":             "is not a time",
	} {
		if got := pinion(t, h, strings.Fields(line)...); got.code != 2 || !strings.Contains(got.err, says) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if asked := slices.Contains(h.calls, "CreateService"); asked {
		t.Error("a service was created")
	}
}

// All that is wrong with a line is told at once, whether it is about the service or about its containers.
func TestAllThatIsWrongWithAServiceIsToldAtOnce(t *testing.T) {
	h := withService(t, steady)
	for _, line := range []string{
		"service create --daemon --replicas 2 --grace soon --alias :: --memory much a/b",
		"run --service web --array 0-3 --priority 200 --memory much a/b",
	} {
		got := pinion(t, h, strings.Fields(line)...)
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "--") && word != "--replicas" && word != "--service" && !strings.Contains(got.err, word) {
				t.Errorf("%s: nothing about %s in %+v", line, word, got)
			}
		}
		if got.code != 2 {
			t.Errorf("%s: %d", line, got.code)
		}
	}
	if asked := slices.Contains(h.calls, "RegisterTaskDefinition"); asked {
		t.Error("a task definition was registered")
	}
}

func TestARunBecomesAService(t *testing.T) {
	h := withService(t, beginning, steady)
	got := pinion(t, h, strings.Fields("run --service web --count 2 --gpus 1 --team vision -p 80 my/server -- serve")...)
	in := h.body(t, "CreateService")
	settings, _ := json.Marshal([]any{in["tags"], in["deploymentConfiguration"]})
	if got.code != 0 || got.out != "web\n" || in["serviceName"] != "web" || in["desiredCount"] != 2.0 || in["taskDefinition"] != "web:3" ||
		string(settings) != `[[{"key":"pinion.team","value":"vision"}],{"deploymentCircuitBreaker":{"enable":true,"rollback":true}}]` {
		t.Errorf("%+v %v", got, in)
	}
	if registered := h.body(t, "RegisterTaskDefinition"); registered["family"] != "service-web" {
		t.Errorf("%v", registered)
	}
	for _, flags := range []string{"--array 0-3", "--gang", "--retries 3", "--after group:a", "--no-wait", "--name other", "--group g"} {
		if got := pinion(t, h, strings.Fields("run --service web "+flags+" my/server")...); got.code != 2 || !strings.Contains(got.err, strings.Fields(flags)[0]) {
			t.Errorf("%s: %+v", flags, got)
		}
	}
}

// A plan registers nothing: the pool is sent what would be registered, tags included, and what would be updated.
func TestADryRunShowsWhatAnUpdateWouldDo(t *testing.T) {
	h := withService(t, steady)
	h.operations["services/plan"] = always(`{"service":"web","definition":"web:3","desiredCount":2,"healthy":2,"leastHealthy":1,"stopFirst":true,"why":"No GPU is free.","completes":true,
		"moves":[{"action":"stop","task":"0123456789abcdef0123456789abcdef","definition":"web:2","host":"gpu-1","gpus":1,"healthy":1},{"action":"start","task":"new 1","definition":"web:3","host":"gpu-1","gpus":1,"healthy":1}]}`)
	got := pinion(t, h, strings.Fields("service plan web --image my/server:2")...)
	if got.code != 0 || !strings.Contains(got.out, "start   new 1") || !strings.Contains(got.out, "at least 1 all the time. Old tasks stop first: No GPU is free.") ||
		!strings.Contains(got.out, "ends with 2 tasks of web:3") {
		t.Errorf("%+v", got)
	}
	definition, _ := h.body(t, "services/plan")["definition"].(map[string]any)
	if tags := fmt.Sprint(definition["tags"]); tags != "[map[key:cost value:ml]]" || h.bodies["RegisterTaskDefinition"] != "" || h.bodies["UpdateService"] != "" {
		t.Errorf("%v, registered: %q, updated: %q", definition, h.bodies["RegisterTaskDefinition"], h.bodies["UpdateService"])
	}
	if got := pinion(t, h, strings.Fields("service plan web -f x.json --image y")...); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

// An alias names the first port that is published, and is the discovery name of it.
func TestAServiceWithAnAlias(t *testing.T) {
	for _, c := range []struct{ alias, port, connect string }{
		{"llm", `[{"appProtocol":"http","containerPort":8000,"hostPort":0,"name":"http","protocol":"tcp"}]`, `{"enabled":true,"services":[{"discoveryName":"llm","portName":"http"}]}`},
		{"grpc://llm:80", `[{"appProtocol":"grpc","containerPort":8000,"hostPort":0,"name":"grpc","protocol":"tcp"}]`, `{"enabled":true,"services":[{"clientAliases":[{"port":80}],"discoveryName":"llm","portName":"grpc"}]}`},
		{"tcp://llm", `[{"containerPort":8000,"hostPort":0,"name":"tcp","protocol":"tcp"}]`, `{"enabled":true,"services":[{"discoveryName":"llm","portName":"tcp"}]}`},
	} {
		h := withService(t, steady)
		if got := pinion(t, h, "service", "create", "-d", "--name", "web", "--alias", c.alias, "-p", "8000", "my/server"); got.code != 0 {
			t.Errorf("%+v", got)
		}
		connect, _ := json.Marshal(h.body(t, "CreateService")["serviceConnectConfiguration"])
		ports, _ := json.Marshal(h.body(t, "RegisterTaskDefinition")["containerDefinitions"].([]any)[0].(map[string]any)["portMappings"])
		if string(connect) != c.connect || string(ports) != c.port {
			t.Errorf("%s: %s, %s", c.alias, connect, ports)
		}
	}
	for _, bad := range [][]string{{"--alias", "ftp://llm", "-p", "1"}, {"--alias", "llm:0", "-p", "1"}, {"--alias", ":80", "-p", "1"}, {"--alias", "llm"}, {"--alias", "llm", "-p", "1/udp"}} {
		if got := pinion(t, withService(t, steady), append(append([]string{"service", "create"}, bad...), "my/server")...); got.code != 2 {
			t.Errorf("%v: %+v", bad, got)
		}
	}
}

package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	ecsclient "github.com/aws/aws-sdk-go-v2/service/ecs"

	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

func TestHostsShowWhatTasksMayReach(t *testing.T) {
	b := newFixture(t)
	host := newHost(hostID, "gpu-1", 4)
	host.Volumes, host.Allow = []volumeroot.Root{{Name: "models", Path: "/mnt/models", ReadOnly: true}, {Name: volumeroot.Local}}, []string{"host-pid"}
	b.mustApply(t, raftfsm.PutHost{Host: host})
	const want = `"volumes":[{"name":"models","path":"/mnt/models","readOnly":true},{"name":"local"}],"allow":["host-pid"]`
	if got := b.get("/v1/hosts").Body.String(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEveryOperationOfECSAnswersOrIsRefusedByName(t *testing.T) {
	b := newFixture(t)
	unsupported := 0
	client := reflect.TypeFor[*ecsclient.Client]()
	for method := range client.Methods() {
		name := method.Name
		if method.Type.NumIn() != 4 { // receiver, context, input, options
			continue
		}
		_, err := ecs.Find(name)
		if err == nil {
			continue
		}
		unsupported++
		got := b.aws(name, `{}`)
		kind := got.Header().Get("X-Amzn-ErrorType")
		if got.Code != 400 || kind != "ClientException" && kind != "UnsupportedFeatureException" || !strings.Contains(got.Body.String(), "pinion: "+name+" is not supported: ") {
			t.Errorf("%s: %d %s %s", name, got.Code, kind, got.Body)
		}
	}
	if unsupported < 19 {
		t.Errorf("only %d operations are refused: the client has %d methods", unsupported, client.NumMethod())
	}
	b.aws("CreateExpressGatewayService", `{}`).wantError(t, 400, "UnsupportedFeatureException", "pinion: CreateExpressGatewayService is not supported: gateways are a service of AWS; there is none here")
}

func TestWhatIsNoOperationOfECS(t *testing.T) {
	b := newFixture(t)
	b.aws("MakeCoffee", `{}`).wantError(t, 400, "UnknownOperationException", "MakeCoffee is not an operation of Amazon ECS")
	b.rest("MakeCoffee", `{}`).wantError(t, 400, "UnknownOperationException", "MakeCoffee is not an operation of Amazon ECS")

	tables := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
	tables.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	b.serve(tables).wantError(t, 400, "UnknownOperationException", "DynamoDB_20120810.ListTables is not an operation of Amazon ECS, CloudWatch, CloudWatch Logs, Application Auto Scaling, Secrets Manager or Systems Manager, which is all that Pinion answers here")
	b.serve(httptest.NewRequest("POST", "/", strings.NewReader("{}"))).wantError(t, 400, "UnknownOperationException",
		"The X-Amz-Target header is missing. It names the operation: AmazonEC2ContainerServiceV20141113.RunTask. Without an AWS client, POST to /v1/RunTask.")
	b.get("/nothing").wantError(t, 404, httpx.NotFound, "There is nothing at GET /nothing. Operations are POST /v1/RunTask and so on; GET /v1/openapi.json tells what else there is.")
	b.serve(httptest.NewRequest("DELETE", "/v1/hosts", nil)).wantError(t, 405, httpx.NotAllowed, "DELETE is not served: use GET or POST.")
}

// Document 1 makes its cluster with CloudFormation; the answer says what takes its place.
func TestCloudFormationIsPointedToTheClusterVariable(t *testing.T) {
	b := newFixture(t)
	r := httptest.NewRequest("POST", "/", strings.NewReader("Action=DescribeStacks&Version=2010-05-15&StackName=tensorflow-test"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	got := b.serve(r)
	if got.Code != 400 || !strings.Contains(got.Body.String(), "<Code>InvalidAction</Code>") || !strings.Contains(got.Body.String(), "export cluster=default") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestABodyThatIsTooLarge(t *testing.T) {
	b := newFixture(t)
	const message = "The request body is larger than 1048576 bytes (1 MiB), which is the most that is accepted."
	b.aws("RunTask", `{"group":"`+strings.Repeat("x", 10<<20)+`"}`).wantError(t, 413, httpx.TooLarge, message)
	b.rest("RunTask", `{"group":"`+strings.Repeat("x", 10<<20)+`"}`).wantError(t, 413, httpx.TooLarge, message)
}

func TestAnEmptyBodyIsAnEmptyObject(t *testing.T) {
	newFixture(t).must(t, "ListClusters", "")
}

// SDKs retry a 500 and nothing else, so a cluster without a leader must answer one.
func TestWithoutALeaderTheAnswerIs500(t *testing.T) {
	b := newFixture(t)
	b.fakeStore.viewErr = fmt.Errorf("nothing was recorded, this server does not lead the pool now; try again: %w", spec.ErrUnavailable)
	message := b.fakeStore.viewErr.Error()
	b.aws("RunTask", `{}`).wantError(t, 500, "ServerException", message)
	if got := b.get("/healthz"); got.Code != 503 || strings.Contains(got.Body.String(), "does not lead") { // that is for the log
		t.Errorf("healthz: %d %s", got.Code, got.Body)
	}
}

func TestAPanicIsA500ThatNamesTheRequest(t *testing.T) {
	b := newFixture(t)
	b.agent.pulls = func(string) []spec.Pull { panic("boom") }
	b.must(t, "RegisterTaskDefinition", oneGPU)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	got := b.get("/v1/tasks/" + firstTask + "/pulls")
	got.wantError(t, 500, "ServerException", "An internal error occurred. The host's log has it under request id "+got.Header().Get("x-amzn-RequestId")+".")
}

func TestEveryAnswerCarriesARequestID(t *testing.T) {
	b := newFixture(t)
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, got := range []reply{b.aws("ListClusters", "{}"), b.aws("Nope", "{}"), b.get("/healthz"), b.get("/nothing")} {
		id := got.Header().Get("x-amzn-RequestId")
		if !uuid.MatchString(id) || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
	}
	if kind := b.aws("ListClusters", "{}").Header().Get("Content-Type"); kind != "application/x-amz-json-1.1" {
		t.Errorf("content type %q", kind)
	}
	if kind := b.rest("ListClusters", "{}").Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q", kind)
	}
}

// The log must be safe to hand to anyone: no body, no header, no query.
func TestNothingSecretReachesTheLog(t *testing.T) {
	b := newFixture(t)
	var log bytes.Buffer
	b.config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.must(t, "RegisterTaskDefinition", container(`"environment":[{"name":"PASSWORD","value":"hunter2"}]`))
	b.aws("RegisterTaskDefinition", container(`"environment":[{"name":"PASSWORD","value":"hunter2"}],"memory":"hunter2"`))
	b.run(t, `{"taskDefinition":"f","overrides":{"containerOverrides":[{"name":"c","environment":[{"name":"P","value":"hunter2"}]}]}}`)
	r := httptest.NewRequest("GET", "/v1/hosts?token=hunter2", nil)
	r.Header.Set("Authorization", "Bearer "+keyID+":"+secret)
	b.serve(r)
	if strings.Contains(log.String(), "hunter2") || strings.Contains(log.String(), secret) {
		t.Errorf("the log holds a secret:\n%s", &log)
	}
	if !strings.Contains(log.String(), "RegisterTaskDefinition") {
		t.Errorf("the log does not show the requests:\n%s", &log)
	}
}

// The log tells who did what, and changes are in it for everyone who reads it.
func TestTheLogTellsWhoDidWhat(t *testing.T) {
	b := newFixture(t)
	var log bytes.Buffer
	b.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	b.config.Trusted = false
	for _, operation := range []string{"ListTasks", "CreateCluster"} {
		r := httptest.NewRequest("POST", "/v1/"+operation, strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+keyID+":"+secret)
		b.serve(r)
	}
	want := regexp.MustCompile(`^time=\S+ level=INFO msg=request operation=CreateCluster principal=arn:aws:iam::123456789012:user/` + keyID +
		` status=200 took=\S+ requestId=[0-9a-f-]{36} bytes=\d+ method=POST path=/v1/CreateCluster from=\S+\n$`)
	if !want.MatchString(log.String()) {
		t.Errorf("%s", &log)
	}
}

func TestHostsAndGPUs(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.get("/v1/hosts").golden(t, "hosts")
	b.get("/v1/gpus").golden(t, "gpus")
	if got := b.get("/v1/hosts?cluster=other").Body.String(); got != "[]" {
		t.Errorf("hosts of another cluster: %s", got)
	}
	if got := b.get("/v1/version").Body.String(); got != `{"version":"1.2.3","hostId":"`+hostID+`"}` {
		t.Errorf("version: %s", got)
	}
	if got := b.get("/healthz"); got.Code != 200 || got.Body.String() != `{"status":"ok"}` {
		t.Errorf("healthz: %s", got.Body)
	}
}

package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// container wraps the fields of one container into a task definition.
func container(fields string) string {
	return `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,` + fields + `}]}`
}

// taskWith wraps fields of the task itself around one plain container.
func taskWith(fields string) string {
	return `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],` + fields + `}`
}

// two are the fields of two containers, of which the first is not essential.
func two(first, second string) string {
	return `{"family":"f","memory":"64","containerDefinitions":[{"name":"a","image":"i","essential":false,` + first + `},{"name":"b","image":"i",` + second + `}]}`
}

const (
	clientError        = "ClientException"
	serializationError = "SerializationException"
)

// refusedDefinitions are refused by their JSON; the rules for their members are tested in api/ecs/taskdef, and a few of them here.
var refusedDefinitions = []struct{ name, body, kind, message string }{
	{"no family", `{"containerDefinitions":[{"name":"c","image":"i","memory":64}]}`, clientError, "Family should not be null or empty. Name the task definition with the field family (pinion register --family NAME)."},
	{"no containers", `{"family":"f"}`, clientError, "Container list cannot be empty."},
	{"no memory at all", `{"family":"f","containerDefinitions":[{"name":"c","image":"i"}]}`, clientError, "Invalid setting for container 'c'. At least one of 'memory' or 'memoryReservation' must be specified."},
	{"empty tags", taskWith(`"tags":[]`), clientError, "Tags can not be empty."},
	{"every GPU and one more", two(`"resourceRequirements":[{"type":"GPU","value":"ALL"}]`, `"gpuCount":1`), clientError, "A container with the GPU value ALL gets every GPU of the host, so it must be the only one with GPUs, not one of a, b."},

	{"a number for a string", taskWith(`"cpu":1024`), serializationError, "cpu must be a string, not a number (put it in quotes)"},
	{"a string for a number", container(`"cpu":"256"`), serializationError, "containerDefinitions[0].cpu must be an integer, not a string"},
	{"a fraction for an integer", container(`"stopTimeout":1.5`), serializationError, "containerDefinitions[0].stopTimeout must be an integer, not 1.5"},
	{"an integer too large", container(`"cpu":4294967296`), serializationError, "containerDefinitions[0].cpu is out of range: 4294967296 does not fit 32 bits"},
	{"an object for a list", container(`"environment":{"A":"1"}`), serializationError, "containerDefinitions[0].environment must be a list, not an object"},
	{"a null in a list", container(`"command":[null]`), serializationError, "containerDefinitions[0].command[0] must not be null"},
	{"a number for an environment value", container(`"environment":[{"name":"A","value":1}]`), serializationError, "containerDefinitions[0].environment[0].value must be a string, not a number (put it in quotes)"},
	{"no object", `[]`, serializationError, "the body must be a JSON object, not a list"},
	{"document 3's fragment", "{\n  \"containerDefinitions\": [\n     {\n        ...\n", serializationError, "the body is not valid JSON: invalid character '.' looking for beginning of object key string (line 4, column 9)"},
	{"half a document", `{"family":`, serializationError, "the body is not valid JSON: it ends too early"},
	{"two documents", `{}{}`, serializationError, "the body is not valid JSON: there is something after the object (line 1, column 4)"},
}

func TestRegisterTaskDefinitionRefuses(t *testing.T) {
	for _, c := range refusedDefinitions {
		t.Run(c.name, func(t *testing.T) {
			b := newFixture(t)
			b.aws("RegisterTaskDefinition", c.body).wantError(t, 400, c.kind, c.message)
			if left := b.state.View().Definitions(""); len(left) != 0 {
				t.Errorf("%d definitions were stored", len(left))
			}
		})
	}
}

// What ECS has and Pinion does not do is refused by name, and never dropped.
func TestUnsupportedFieldsAreRefusedByName(t *testing.T) {
	b := newFixture(t)
	for field, value := range map[string]string{
		"credentialSpecs": `["x"]`,
	} {
		got := b.aws("RegisterTaskDefinition", container(`"`+field+`":`+value))
		wantRefused(t, got, "containerDefinitions[0]."+field)
	}
	for field, value := range map[string]string{
		"proxyConfiguration": `{"containerName":"c"}`, "inferenceAccelerators": `[{"deviceName":"d"}]`, "ephemeralStorage": `{"sizeInGiB":30}`,
		"enableFaultInjection": `true`,
	} {
		wantRefused(t, b.aws("RegisterTaskDefinition", taskWith(`"`+field+`":`+value)), field)
	}
	wantRefused(t, b.aws("RegisterTaskDefinition", taskWith(`"volumes":[{"name":"v","fsxWindowsFileServerVolumeConfiguration":{"a":"b"}}]`)), "volumes[0].fsxWindowsFileServerVolumeConfiguration")
}

func wantRefused(t *testing.T, got reply, field string) {
	t.Helper()
	var refusal struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	got.decode(t, &refusal)
	if got.Code != 400 || refusal.Type != "ClientException" || !strings.HasPrefix(refusal.Message, field+" is not supported by Pinion") {
		t.Errorf("%s: %d %s", field, got.Code, got.Body)
	}
}

// Document 4 as it is: YAML with a compose version and gpuCount, and no family.
func TestDocument4RegistersOnceItHasAFamily(t *testing.T) {
	b := newFixture(t)
	text := document(t, "seed4-gpuCount.yaml")
	b.rest("RegisterTaskDefinition", text, "application/yaml").wantError(t, 400, "ClientException",
		"Family should not be null or empty. Name the task definition with the field family (pinion register --family NAME).")

	got := b.rest("RegisterTaskDefinition", "family: doc4\n"+text, "text/yaml; charset=utf-8")
	if got.Code != http.StatusOK {
		t.Fatal(got.Body)
	}
	if warning := got.Header().Get("X-Pinion-Warning"); !strings.HasPrefix(warning, "version is ignored") {
		t.Errorf("warning %q", warning)
	}
	stored := b.state.View().Definition("doc4:1")
	if stored.TaskRoleARN != "arn:aws:iam::XXXXXXXXXXXX:role/ecsTaskExecutionRole" {
		t.Errorf("role %q", stored.TaskRoleARN)
	}
	want := []spec.ResourceRequirement{{Type: "GPU", Value: "1"}}
	if c := stored.Containers[0]; len(c.ResourceRequirements) != 1 || c.ResourceRequirements[0] != want[0] || c.CPU != 256 || c.Memory != 4096 {
		t.Errorf("%+v", c)
	}
	for _, never := range []string{"gpuCount", `"version"`, "count", "capabilities"} {
		if strings.Contains(got.Body.String(), never) {
			t.Errorf("%s is shown back: %s", never, got.Body)
		}
	}
}

func TestYAMLIsAsStrictAsJSON(t *testing.T) {
	b := newFixture(t)
	const head = "family: f\ncontainerDefinitions:\n- name: c\n  image: i\n  memory: 64\n"
	for _, c := range []struct{ name, body, kind, message string }{
		{"an unquoted value", head + "  environment: [{name: A, value: 0644}]\n", "SerializationException", "containerDefinitions[0].environment[0].value must be a string, not a number (put it in quotes)"},
		{"a field of another tool", head + "  gpus: 2\n", "ClientException", `unknown field containerDefinitions[0].gpus: did you mean "gpuCount"?`},
		{"a field in the wrong object", head + "  ipcMode: host\n", "ClientException", `unknown field containerDefinitions[0].ipcMode: it belongs beside containerDefinitions, not in it`},
		{"a mistyped field", head + "  enviroment: []\n", "ClientException", `unknown field containerDefinitions[0].enviroment: did you mean "environment"?`},
		{"a list", "- a\n", "SerializationException", "the YAML body must be a mapping of fields"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.rest("RegisterTaskDefinition", c.body, "application/yaml").wantError(t, 400, c.kind, c.message)
		})
	}
	if got := b.rest("RegisterTaskDefinition", "family: f\nfamily: g\n", "application/yaml"); got.Code != 400 || !strings.Contains(got.Body.String(), `already set`) {
		t.Errorf("a key twice: %d %s", got.Code, got.Body)
	}
}

func TestTheRESTFormSuggestsTheNearestField(t *testing.T) {
	b := newFixture(t)
	b.rest("RunTask", `{"taskDefiniton":"x"}`).wantError(t, 400, "ClientException", `unknown field taskDefiniton: did you mean "taskDefinition"?`)
	b.rest("RunTask", `{"TaskDefinition":"x"}`).wantError(t, 400, "ClientException", `unknown field TaskDefinition: did you mean "taskDefinition"?`)
	b.rest("StopTask", `{"zzzzzzzzz":1}`).wantError(t, 400, "ClientException", "unknown field zzzzzzzzz: known here are cluster, force, reason, task")
	// AWS's protocol ignores it, as AWS does.
	b.aws("RunTask", `{"taskDefiniton":"x"}`).wantError(t, 400, "ClientException", "TaskDefinition should not be null or empty.")
}

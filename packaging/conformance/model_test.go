package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs"
)

// model is the public description of Amazon ECS, as botocore carries it: service-2.json.
type model struct {
	Operations map[string]struct {
		Output struct{ Shape string }
		Errors []struct{ Shape string }
	}
	Shapes map[string]shape
}

type shape struct {
	Type    string // structure, list, map, string, integer, long, double, boolean, timestamp
	Members map[string]struct{ Shape string }
	Member  struct{ Shape string }
	Value   struct{ Shape string }
	Enum    []string
	Fault   bool
}

// serviceModel reads the model of the botocore that Python finds. It skips the test where there is none, and where it is
// older than the operations that Pinion has: then it would not know their members either.
func serviceModel(t *testing.T) *model {
	t.Helper()
	folder, err := exec.Command("python3", "-c", "import botocore, os; print(os.path.dirname(botocore.__file__))").Output()
	if err != nil {
		t.Skipf("NOT TESTED: no botocore on this machine, which has the model of ECS; install boto3: %v", err)
	}
	found, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "data", "ecs", "*", "service-2.json*"))
	if len(found) == 0 {
		t.Fatalf("botocore in %s has no model of ECS", folder)
	}
	m := &model{}
	if err := readModel(slices.Max(found), m); err != nil {
		t.Fatalf("%s: %v", slices.Max(found), err)
	}
	for name, operation := range ecs.Operations {
		if _, known := m.Operations[name]; !known && !operation.Own {
			t.Skipf("NOT TESTED: %s is older than %s; update boto3", slices.Max(found), name)
		}
	}
	return m
}

func readModel(path string, into *model) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	return decodeModel(r, into)
}

// alwaysPresent are the lists that Amazon ECS shows even when they are empty, by the structure they are in. Clients read
// them without asking whether they are there.
var alwaysPresent = map[string][]string{
	"Cluster":                               {"statistics", "tags", "settings", "capacityProviders", "defaultCapacityProviderStrategy"},
	"ContainerDefinition":                   {"environment", "mountPoints", "portMappings", "volumesFrom"},
	"TaskDefinition":                        {"containerDefinitions", "volumes", "placementConstraints", "compatibilities"},
	"Task":                                  {"attachments", "containers", "tags"},
	"TaskOverride":                          {"containerOverrides"},
	"Container":                             {"networkInterfaces"},
	"ContainerInstance":                     {"attachments", "attributes", "registeredResources", "remainingResources", "tags"},
	"DescribeClustersResponse":              {"clusters", "failures"},
	"DescribeContainerInstancesResponse":    {"containerInstances", "failures"},
	"DescribeTasksResponse":                 {"tasks", "failures"},
	"RunTaskResponse":                       {"tasks", "failures"},
	"StartTaskResponse":                     {"tasks", "failures"},
	"DeleteTaskDefinitionsResponse":         {"taskDefinitions", "failures"},
	"UpdateContainerInstancesStateResponse": {"containerInstances", "failures"},
	"ListClustersResponse":                  {"clusterArns"},
	"ListTaskDefinitionsResponse":           {"taskDefinitionArns"},
	"ListTaskDefinitionFamiliesResponse":    {"families"},
	"ListTasksResponse":                     {"taskArns"},
	"ListContainerInstancesResponse":        {"containerInstanceArns"},
	"ListAttributesResponse":                {"attributes"},
	"PutAttributesResponse":                 {"attributes"},
	"DeleteAttributesResponse":              {"attributes"},
	"ListTagsForResourceResponse":           {"tags"},
	"ListAccountSettingsResponse":           {"settings"},
	"CapacityProvider":                      {"tags"},
	"DescribeCapacityProvidersResponse":     {"capacityProviders", "failures"},
}

// responseProblems says what is wrong with the body of a success.
func (m *model) responseProblems(operation string, body []byte) []string {
	described, known := m.Operations[operation]
	if !known {
		return []string{"the model has no operation " + operation}
	}
	return m.bodyProblems(described.Output.Shape, body)
}

func (m *model) bodyProblems(name string, body []byte) []string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []string{err.Error()}
	}
	return m.problems(name, value, "")
}

// commonErrors belong to the protocol and to no operation's model: every client knows them.
var commonErrors = []string{
	"UnknownOperationException", "SerializationException", "ThrottlingException", "UnrecognizedClientException",
	"InvalidSignatureException", "IncompleteSignatureException", "MissingAuthenticationTokenException", "AccessDeniedException",
}

// errorProblems says what is wrong with the status and body of a refusal.
func (m *model) errorProblems(operation, kind string, status int, body []byte) []string {
	var problems []string
	modelled := slices.ContainsFunc(m.Operations[operation].Errors, func(e struct{ Shape string }) bool { return e.Shape == kind })
	if !modelled && !slices.Contains(commonErrors, kind) {
		problems = append(problems, kind+" is not an error of "+operation)
	}
	want := 400
	if m.Shapes[kind].Fault {
		want = 500
	}
	if status != want {
		problems = append(problems, fmt.Sprintf("status %d with %s, want %d", status, kind, want))
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		return append(problems, err.Error())
	}
	if members["__type"] != kind {
		problems = append(problems, fmt.Sprintf("__type is %v", members["__type"]))
	}
	if text, _ := members["message"].(string); text == "" {
		problems = append(problems, "no message")
	}
	if !modelled {
		return problems
	}
	delete(members, "__type")
	delete(members, "message")
	return append(problems, m.problems(kind, members, "")...)
}

// problems compares one decoded value, whose numbers are json.Number, with the shape of that name.
func (m *model) problems(name string, value any, at string) []string {
	s := m.Shapes[name]
	wrong := func() []string {
		return []string{fmt.Sprintf("%s: %v (%T) where the model has %s %s", at, value, value, s.Type, name)}
	}
	switch v := value.(type) {
	case map[string]any:
		switch s.Type {
		case "structure":
			return m.structureProblems(name, v, at)
		case "map":
			var all []string
			for key, one := range v {
				all = append(all, m.problems(s.Value.Shape, one, at+"."+key)...)
			}
			return all
		}
		return wrong()
	case []any:
		if s.Type != "list" {
			return wrong()
		}
		var all []string
		for i, one := range v {
			all = append(all, m.problems(s.Member.Shape, one, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return all
	case string:
		if s.Type != "string" || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
			return wrong()
		}
	case bool:
		if s.Type != "boolean" {
			return wrong()
		}
	case json.Number:
		whole := s.Type == "integer" || s.Type == "long"
		if !whole && s.Type != "double" && s.Type != "timestamp" || whole && strings.ContainsAny(v.String(), ".eE") {
			return wrong()
		}
	default: // null
		return wrong()
	}
	return nil
}

// ownMembers are Pinion's own, which Amazon's clients pass over.
var ownMembers = []string{"Container.peakMemory", "Container.gpuTotals"}

// newerMembers are of the model that go.mod has, and may be missing in that of botocore.
var newerMembers = []string{
	"DaemonRevision.critical", "DaemonRevisionDetail.totalWithoutDaemonCount", "DaemonCapacityProvider.withoutDaemonCount",
	"DaemonTaskDefinition.pidMode", "DaemonTaskDefinition.ipcMode",
}

func (m *model) structureProblems(name string, members map[string]any, at string) []string {
	var all []string
	for key, value := range members {
		member, known := m.Shapes[name].Members[key]
		if !known && (slices.Contains(ownMembers, name+"."+key) || slices.Contains(newerMembers, name+"."+key)) {
			continue
		}
		if !known {
			all = append(all, fmt.Sprintf("%s.%s: %s has no such member", at, key, name))
			continue
		}
		all = append(all, m.problems(member.Shape, value, at+"."+key)...)
		if inner, ok := value.(map[string]any); ok && len(inner) == 0 && m.Shapes[member.Shape].Type == "structure" {
			all = append(all, fmt.Sprintf("%s.%s: empty, where absent means absent", at, key))
		}
	}
	for _, list := range alwaysPresent[name] {
		if _, there := members[list]; !there {
			all = append(all, fmt.Sprintf("%s.%s: missing, where ECS always shows a list", at, list))
		}
	}
	return all
}

func decodeModel(r io.Reader, into *model) error { return json.NewDecoder(r).Decode(into) }

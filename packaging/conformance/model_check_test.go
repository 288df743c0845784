package conformance

import (
	"strings"
	"testing"
)

// smallModelJSON is a model with one of each kind.
const smallModelJSON = `{"operations": {"Look": {"output": {"shape": "Seen"}, "errors": [{"shape": "ClientException"}, {"shape": "ServerException"}]}}, "shapes": {
	"Seen": {"type": "structure", "members": {"task": {"shape": "Task"}}},
	"Task": {"type": "structure", "members": {"name": {"shape": "S"}, "status": {"shape": "Status"}, "count": {"shape": "I"}, "at": {"shape": "T"}, "on": {"shape": "B"},
		"tags": {"shape": "L"}, "attachments": {"shape": "L"}, "containers": {"shape": "L"}, "options": {"shape": "M"}, "parent": {"shape": "Seen"}}},
	"S": {"type": "string"}, "Status": {"type": "string", "enum": ["UP"]}, "I": {"type": "integer"}, "T": {"type": "timestamp"}, "B": {"type": "boolean"},
	"L": {"type": "list", "member": {"shape": "S"}}, "M": {"type": "map", "value": {"shape": "S"}},
	"ClientException": {"type": "structure", "members": {"message": {"shape": "S"}}},
	"ServerException": {"type": "structure", "members": {"message": {"shape": "S"}}, "fault": true}}}`

func smallModel(t *testing.T) *model {
	t.Helper()
	m := &model{}
	must(t, decodeModel(strings.NewReader(smallModelJSON), m))
	return m
}

func TestTheCheckSeesWhatIsWrongWithAnAnswer(t *testing.T) {
	m := smallModel(t)
	lists := `"tags":[],"attachments":["x"],"containers":[]`
	for body, want := range map[string]string{
		`{"task":{` + lists + `,"name":"a","status":"UP","count":3,"at":1549468508.844,"on":false,"options":{"a":"b"}}}`: "",
		`{}`:                                              "",
		`{"task":{` + lists + `,"name":null}}`:            ".task.name: <nil>",
		`{"task":{` + lists + `,"name":3}}`:               ".task.name: 3",
		`{"task":{` + lists + `,"count":"3"}}`:            ".task.count: 3 (string)",
		`{"task":{` + lists + `,"count":3.0}}`:            ".task.count: 3.0",
		`{"task":{` + lists + `,"on":0}}`:                 ".task.on: 0",
		`{"task":{` + lists + `,"at":"now"}}`:             ".task.at: now",
		`{"task":{` + lists + `,"status":"ON"}}`:          ".task.status: ON",
		`{"task":{` + lists + `,"nick":"b"}}`:             ".task.nick: Task has no such member",
		`{"task":{` + lists + `,"parent":{}}}`:            ".task.parent: empty",
		`{"task":{` + lists + `,"options":{"a":1}}}`:      ".task.options.a: 1",
		`{"task":{"tags":[1],"attachments":[]}}`:          ".task.tags[0]: 1",
		`{"task":{"tags":[],"attachments":[],"name":""}}`: ".task.containers: missing",
		`{"task":[]}`: ".task: []",
	} {
		got := strings.Join(m.responseProblems("Look", []byte(body)), "; ")
		if got == "" && want != "" || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestTheCheckSeesWhatIsWrongWithARefusal(t *testing.T) {
	m := smallModel(t)
	for _, c := range []struct {
		kind   string
		status int
		body   string
		want   string
	}{
		{"ClientException", 400, `{"__type":"ClientException","message":"no"}`, ""},
		{"ThrottlingException", 400, `{"__type":"ThrottlingException","message":"no"}`, ""},
		{"ServerException", 500, `{"__type":"ServerException","message":"no"}`, ""},
		{"ServerException", 400, `{"__type":"ServerException","message":"no"}`, "status 400"},
		{"ClientException", 500, `{"__type":"ClientException","message":"no"}`, "status 500"},
		{"OtherException", 400, `{"__type":"OtherException","message":"no"}`, "not an error of Look"},
		{"ClientException", 400, `{"__type":"ClientException"}`, "no message"},
		{"ClientException", 400, `{"message":"no"}`, "__type"},
		{"ClientException", 400, `{"__type":"ClientException","message":"no","why":"so"}`, ".why"},
	} {
		got := strings.Join(m.errorProblems("Look", c.kind, c.status, []byte(c.body)), "; ")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d %s: %q, want %q", c.status, c.body, got, c.want)
		}
	}
}

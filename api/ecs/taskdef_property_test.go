package ecs

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// TestTaskDefinitions draws task definitions of all the fields there are. What is accepted is described as it was answered,
// and registering the description gives the same again. What is refused is a ClientException that names a field; and one
// wrong value in a definition that is accepted without it is refused by its own name.
func TestTaskDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRegistrar(t)
		drawn := drawDefinition(t)
		first, err := r.register(drawn.text())
		if err != nil {
			if wantClient(t, err); !namesField(err) {
				t.Fatalf("the refusal names no field: %v\n%s", err, drawn.text())
			}
			return
		}
		if described := r.describe(t, first); !reflect.DeepEqual(described, first) {
			t.Fatalf("answered  %v\ndescribed %v", first, described)
		}
		text, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.register(string(text))
		if err != nil {
			t.Fatalf("what was described is refused: %v\n%s", err, text)
		}
		if second := r.describe(t, again); !reflect.DeepEqual(withoutRevision(second), withoutRevision(first)) {
			t.Fatalf("registered %v\nas         %v", first, second)
		}
		name := drawn.corrupt(t)
		_, err = r.register(drawn.text())
		if wantClient(t, err); !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(name)) {
			t.Fatalf("the refusal does not name %s: %v\n%s", name, err, drawn.text())
		}
	})
}

func wantClient(t *rapid.T, err error) {
	if refusal, ok := errors.AsType[*wire.Error](err); !ok || refusal.Type != wire.Client {
		t.Fatalf("not a ClientException: %v", err)
	}
}

// inputNames are the names of all fields of a task definition, in lower case.
var inputNames = namesIn(reflect.TypeFor[types.RegisterTaskDefinitionInput](), map[string]bool{})

func namesIn(t reflect.Type, names map[string]bool) map[string]bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for name, field := range wire.Fields(t) {
			names[strings.ToLower(name)] = true
			namesIn(field.Type, names)
		}
	}
	return names
}

var word = regexp.MustCompile(`[A-Za-z]+`)

// namesField reports whether the refusal has the name of a field in it, whatever the container is called.
func namesField(err error) bool {
	for _, w := range word.FindAllString(err.Error(), -1) {
		if inputNames[strings.ToLower(w)] {
			return true
		}
	}
	return false
}

// registrar registers and describes task definitions in a state of its own.
type registrar struct {
	state *raftfsm.State
	index uint64
}

// View is the state as it is.
func (r *registrar) View(context.Context) (*raftfsm.View, error) { return r.state.View(), nil }

func newRegistrar(t *rapid.T) *registrar {
	r := &registrar{state: raftfsm.NewState()}
	if _, err := r.Propose(context.Background(), raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// Propose is as through Raft: what does not survive the encoding is not stored.
func (r *registrar) Propose(_ context.Context, command raftfsm.Command) (any, error) {
	entry, err := raftfsm.Encode(command)
	if err != nil {
		return nil, err
	}
	decoded, err := raftfsm.Decode(entry)
	if err != nil {
		return nil, err
	}
	r.index++
	return r.state.Apply(r.index, decoded)
}

func (r *registrar) Run(context.Context, spec.RunRequest) (spec.RunResult, error) {
	return spec.RunResult{}, spec.ErrNoHosts
}

func (r *registrar) Connected(string) bool { return false }

// call is one operation of the ECS API, whose answer is decoded into a document.
func (r *registrar) call(operation, body string) (map[string]any, error) {
	c := &Request{Region: "us-east-1", Principal: "me", Strictness: wire.Lenient, View: r.state.View(), Store: r, Now: func() time.Time { return time.Unix(1, 0) }}
	prepared, err := Operations[operation].Prepare(c, []byte(body), wire.DecodeJSON)
	if err != nil {
		return nil, err
	}
	answer, err := prepared.Run(context.Background())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var document struct {
		Definition map[string]any `json:"taskDefinition"`
	}
	err = json.Unmarshal(text, &document)
	return document.Definition, err
}

func (r *registrar) register(body string) (map[string]any, error) {
	return r.call("RegisterTaskDefinition", body)
}

func (r *registrar) describe(t *rapid.T, definition map[string]any) map[string]any {
	described, err := r.call("DescribeTaskDefinition", `{"taskDefinition":"`+definition["taskDefinitionArn"].(string)+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	return described
}

// withoutRevision is a definition without what tells its revisions apart.
func withoutRevision(definition map[string]any) map[string]any {
	delete(definition, "taskDefinitionArn")
	delete(definition, "revision")
	return definition
}

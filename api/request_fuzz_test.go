package api

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs"
	"pinion/raftfsm"
)

// otherHost is in the cluster lab, where nothing runs.
const otherHost = "bbbb0000000000000000000000000002"

// newPopulatedFixture is a bench with something of everything for requests to meet: task definitions of which one is inactive and one
// is being deleted, a running and a stopped task, a cluster with a host of its own, tags, attributes, settings.
func newPopulatedFixture(t testing.TB) *fixture {
	b := ready(t)
	lab := newHost(otherHost, "gpu-2", 2)
	lab.Cluster = "lab"
	b.must(t, "CreateCluster", `{"clusterName":"lab","tags":[{"key":"k","value":"v"}]}`)
	b.mustApply(t, raftfsm.PutHost{Host: lab})
	for _, body := range []string{everything, container(`"cpu":1`), container(`"cpu":2`), container(`"cpu":3`)} {
		b.must(t, "RegisterTaskDefinition", body)
	}
	for _, name := range []string{"f:1", "f:2"} {
		b.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"`+name+`"}`)
	}
	b.must(t, "DeleteTaskDefinitions", `{"taskDefinitions":["f:1"]}`)
	b.run(t, `{"taskDefinition":"f","count":2,"startedBy":"me","clientToken":"T"}`)
	b.reportExited(t, firstTask, 1)
	b.must(t, "PutAttributes", `{"attributes":[{"name":"rack","value":"7","targetId":"`+hostID+`"}]}`)
	b.must(t, "PutAccountSettingDefault", `{"name":"containerInsights","value":"enabled"}`)
	return b
}

// operations are all that do something, in the order of their names.
var operations = slices.Sorted(maps.Keys(ecs.Operations))

// operationFor is the operation of that name, or, so that what a fuzzer makes of names is not lost, some other one.
func operationFor(name string) string {
	if _, known := ecs.Operations[name]; known {
		return name
	}
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return operations[int(sum.Sum32())%len(operations)]
}

// FuzzAWSJSON: whatever body comes to whatever operation, the answer is a JSON object without a null, a refusal has a type,
// and nothing is a fault of ours: every panic would be a 500 here.
func FuzzAWSJSON(f *testing.F) {
	for _, name := range operations {
		f.Add(name, `{}`)
		f.Add(name, bodies[name])
	}
	b := newPopulatedFixture(f)
	handler, made, placed := NewHandler(b.config), b.index, b.placed
	var snapshot bytes.Buffer
	if err := b.state.View().WriteSnapshot(&snapshot); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		if b.index != made { // the request before this one changed something
			if err := b.state.Restore(bytes.NewReader(snapshot.Bytes())); err != nil {
				t.Fatal(err)
			}
			b.index, b.placed = made, placed
		}
		operation := operationFor(name)
		got := reply{httptest.NewRecorder()}
		handler.ServeHTTP(got, awsRequest(operation, body))
		got.wantSound(t, operation+" "+body)
	})
}

// wantSound checks what holds for the answer to anything.
func (r reply) wantSound(t testing.TB, asked string) {
	t.Helper()
	var answer map[string]any
	r.decode(t, &answer)
	if r.Code >= 500 {
		t.Errorf("%q: %d %s", asked, r.Code, r.Body)
	}
	if at := nullIn(answer); at != "" {
		t.Errorf("%q: %s is null: %s", asked, at, r.Body)
	}
	if kind := r.Header().Get("X-Amzn-ErrorType"); r.Code >= 400 && (kind == "" || kind != answer["__type"]) {
		t.Errorf("%q: the refusal is of type %q: %s", asked, kind, r.Body)
	}
}

// nullIn is where a document has a null, empty when it has none.
func nullIn(value any) string {
	found := ""
	switch value := value.(type) {
	case nil:
		return "."
	case map[string]any:
		for name, member := range value {
			if at := nullIn(member); at != "" {
				found = cmp.Or(found, name+strings.TrimSuffix("."+at, ".."))
			}
		}
	case []any:
		for _, item := range value {
			found = cmp.Or(found, nullIn(item))
		}
	}
	return found
}

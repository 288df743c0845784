package ecs

import (
	"slices"
	"testing"

	"pinion/api/auth"
	"pinion/api/ecs/internal/model"
	"pinion/api/ecs/types"
	"pinion/api/wire"
)

// commonErrors are those that every operation may fail with, and those of the protocol.
var commonErrors = []string{wire.AccessDenied, wire.Client, wire.InvalidParameter, wire.Server, wire.Serialization}

// Clients of an operation know only the errors of its model.
func TestRefusalsAreErrorsOfTheModel(t *testing.T) {
	s := newLabAndOther(t)
	refused := 0
	for name, operation := range Operations {
		if operation.Own {
			continue // its clients are ours
		}
		for _, body := range []string{
			`{}`, `{"cluster":"nope"}`, `{"cluster":"lab"}`, `{"cluster":1}`, `{"clusters":["arn:x"]}`, `{"resourceArn":"x"}`,
			`{"resourceArn":"` + arnPrefix + `service/lab/web"}`, `{"resourceArn":"` + arnPrefix + `cluster/nope","tags":[{"key":"a"}],"tagKeys":["a"]}`,
			`{"taskDefinition":"f"}`, `{"taskDefinition":"f:0"}`, `{"family":"f"}`, `{"name":"aws"}`, `{"name":"night","value":"x"}`, `{"capacityProvider":"PINION"}`,
			`{"tasks":["x"]}`, `{"task":"x"}`, `{"containerInstance":"x"}`, `{"services":["web"]}`, `{"serviceName":"web"}`, `{"service":"web"}`, `{"maxResults":0}`,
			`{"attributes":[{"name":"a","targetId":"x"}]}`, `{"capacityProviders":["nope"],"defaultCapacityProviderStrategy":[]}`, `{"cluster":"default","namespace":"n"}`,
		} {
			for _, scope := range []string{"", "lab"} {
				_, err := s.call(t, operation, auth.KeyClusters(scope), body)
				if err == nil {
					continue
				}
				refused++
				if got := errorType(err); !slices.Contains(commonErrors, got) && !slices.Contains(types.Errors[name], got) {
					t.Errorf("%s %s: %v is not an error of the model", name, body, err)
				}
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d refusals", refused)
	}
}

// A call without the members that the model requires is refused.
func TestARequiredMemberIsMissed(t *testing.T) {
	m, err := model.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := newLabAndOther(t)
	for name, operation := range Operations {
		if operation.Own {
			continue
		}
		required := slices.ContainsFunc(m.Shapes[m.Operations[name].Input].Members, func(member model.Member) bool { return member.Required })
		if _, err := s.call(t, operation, "", `{}`); required && err == nil {
			t.Errorf("%s is carried out without the members that it requires", name)
		}
	}
}

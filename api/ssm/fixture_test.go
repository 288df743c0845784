package ssm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

type fixture struct{ *secretstest.Pool }

func newFixture(t *testing.T) *fixture { return &fixture{secretstest.New(t)} }

var (
	admin  = secretstest.Admin
	reader = secretstest.Key(accesskey.RoleRead, "")
	ofA    = secretstest.Key(accesskey.RoleSubmit, "a")
	ofB    = secretstest.Key(accesskey.RoleSubmit, "b")
)

func (f *fixture) as(who auth.Principal, operation, body string) (string, error) {
	o, err := Find(operation)
	if err != nil {
		return "", err
	}
	return f.Call(who, o, body)
}

func (f *fixture) mustAs(t *testing.T, who auth.Principal, operation, body string) string {
	t.Helper()
	out, err := f.as(who, operation, body)
	if err != nil {
		t.Fatalf("%s %.200s: %v", operation, body, err)
	}
	return out
}

func (f *fixture) must(t *testing.T, operation, body string) string {
	t.Helper()
	return f.mustAs(t, admin, operation, body)
}

// put is the input of PutParameter for a String, with more members.
func put(name, value string, more ...string) string {
	return fmt.Sprintf(`{"Name":%s,"Value":%s,"Type":"String"%s}`, quoted(name), quoted(value), strings.Join(more, ""))
}

func quoted(text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return encoded
}

func errorType(err error) string {
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		return refusal.Type
	}
	return fmt.Sprint(err)
}

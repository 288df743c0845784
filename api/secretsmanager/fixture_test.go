package secretsmanager

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

// input is a body of a SecretId, or of a Name, with more members.
func input(member, name string, more ...string) string {
	return fmt.Sprintf(`{%q:%s%s}`, member, quoted(name), strings.Join(more, ""))
}

// text is the member of a value.
func text(value string) string { return `,"SecretString":` + string(quoted(value)) }

func clientToken(n int) string { return fmt.Sprintf("%032d", n) }

func withClientToken(n int) string { return fmt.Sprintf(`,"ClientRequestToken":%q`, clientToken(n)) }

func quoted(text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return encoded
}

// member is the text of a member of an answer.
func member(t *testing.T, answer, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(answer), &members); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(members[name])
}

func errorType(err error) string {
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		return refusal.Type
	}
	return fmt.Sprint(err)
}

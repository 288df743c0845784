package ecs

import (
	"fmt"
	"strings"
	"testing"
)

type protection struct {
	ProtectedTasks []struct {
		TaskARN           string
		ProtectionEnabled bool
		ExpirationDate    float64
	}
	Failures []struct{ ARN, Reason string }
}

// A task of a service is protected for a time, and can be let go before; no other task has anything to be protected from.
func TestATaskOfAServiceIsProtected(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2}`)
	mine := f.addTask(t, "a")
	f.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	ask := func(operation, more string) (out protection) {
		t.Helper()
		f.must(t, operation, `{"cluster":"default","tasks":["`+mine+`","`+firstTask+`","ffff"]`+more+`}`).decode(t, &out)
		if len(out.ProtectedTasks) != 1 || len(out.Failures) != 2 || out.Failures[0].Reason != "MISSING" || out.Failures[1].Reason != "TASK_NOT_VALID" {
			t.Fatalf("%s %s: %+v", operation, more, out)
		}
		return out
	}
	if got := ask("GetTaskProtection", "").ProtectedTasks[0]; got.ProtectionEnabled || got.ExpirationDate != 0 {
		t.Errorf("at first: %+v", got)
	}
	for more, minutes := range map[string]int{`,"protectionEnabled":true`: 120, `,"protectionEnabled":true,"expiresInMinutes":2880`: 2880} {
		for _, got := range []protection{ask("UpdateTaskProtection", more), ask("GetTaskProtection", "")} {
			want := float64(epoch.UnixMilli())/1000 + float64(60*minutes)
			if p := got.ProtectedTasks[0]; !p.ProtectionEnabled || p.ExpirationDate != want || !strings.HasSuffix(p.TaskARN, mine) {
				t.Errorf("%s: %+v, want it until %f", more, p, want)
			}
		}
	}
	if got := ask("UpdateTaskProtection", `,"protectionEnabled":false`).ProtectedTasks[0]; got.ProtectionEnabled {
		t.Errorf("let go: %+v", got)
	}
	if until := f.state.View().Task(mine).ProtectedUntil; !until.IsZero() {
		t.Errorf("it is protected until %v", until)
	}
}

func TestWhatIsNoProtection(t *testing.T) {
	f := ready(t)
	many := strings.Repeat(`"a",`, 10) + `"b"`
	for body, want := range map[string]string{
		`"protectionEnabled":true`:                                       "tasks must have 1 to 10 items, not 0.",
		`"protectionEnabled":true,"tasks":[` + many + `]`:                "tasks must have 1 to 10 items, not 11.",
		`"protectionEnabled":true,"tasks":["a"],"expiresInMinutes":0`:    "expiresInMinutes must be between 1 and 2880, not 0.",
		`"protectionEnabled":true,"tasks":["a"],"expiresInMinutes":2881`: "expiresInMinutes must be between 1 and 2880, not 2881.",
	} {
		f.call("UpdateTaskProtection", fmt.Sprintf(`{"cluster":"default",%s}`, body)).wantError(t, invalid, want)
	}
}

package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pinion/api/ecs"
)

// caller makes calls the way one client does. A refusal has a type and is no error; errOlder is one.
type caller interface {
	call(operation, body string) (answer []byte, refusal string, err error)
}

// errClientTooOld is returned by a client that does not know the operation; no request was sent.
var errClientTooOld = errors.New("this client is older than the operation")

// runScenario goes through steps of the scenario with a client.
func (on *testPool) runScenario(t *testing.T, c caller, me string, steps []step) {
	on.spare(t, me)
	saved, older := on.newBalancer(t, me), map[string]bool{}
	saved["me"] = me
	for i, s := range steps {
		lacks := ""
		expand := func(name string) string {
			if saved[name] == "" {
				lacks = name
			}
			return saved[name]
		}
		body := os.Expand(s.body, expand)
		name, from, keeps := strings.Cut(s.saves, "=")
		if older[lacks] {
			older[name] = keeps
			t.Logf("NOT TESTED: step %d, %s: this client is older than what tells it $%s", i, s.operation, lacks)
			continue
		}
		if lacks != "" {
			t.Fatalf("step %d, %s: nothing is kept as $%s", i, s.operation, lacks)
		}
		path, want, waits := strings.Cut(os.Expand(s.until, expand), "=")
		eventually(t, fmt.Sprintf("%s has %s", s.operation, s.until), func() bool {
			answer := runStep(t, c, s, body)
			older[name] = keeps && answer == nil
			if keeps && answer != nil {
				if saved[name] = textAt(answer, from); saved[name] == "" {
					t.Fatalf("%s %s answers %v, without %s", s.operation, body, answer, from)
				}
			}
			return !waits || answer == nil || textAt(answer, path) == want
		})
	}
}

// runStep makes the call of a step and returns the decoded answer, nil for an expected error and where the
// client is too old.
func runStep(t *testing.T, c caller, s step, body string) any {
	t.Helper()
	raw, refusal, err := c.call(s.operation, body)
	if errors.Is(err, errClientTooOld) {
		t.Logf("NOT TESTED: %s: %v", s.operation, err)
		return nil
	}
	if err != nil {
		t.Fatalf("%s %s: %v", s.operation, body, err)
	}
	if refusal != s.wantError {
		t.Errorf("%s %s: refused with %q, want %q\n%s", s.operation, body, refusal, s.wantError, raw)
	}
	var answer any
	if refusal == "" && len(raw) > 0 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatalf("%s: %v in %q", s.operation, err, raw)
		}
	}
	return answer
}

// textAt is the text at a path like "tasks.0.taskArn". Names are compared without case, for clients that have their own.
func textAt(value any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = nil
			for key, member := range v {
				if strings.EqualFold(key, name) {
					value = member
				}
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return ""
			}
			value = v[i]
		}
	}
	text, _ := value.(string)
	return text
}

// successes are the steps of the scenario that are not refused.
func successes() []step {
	return slices.DeleteFunc(slices.Clone(scenario), func(s step) bool { return s.wantError != "" })
}

func TestEveryOperationOfTierOneHasItsCases(t *testing.T) {
	for _, name := range slices.Concat(coreOperations, serviceOperations, taskSetOperations, daemonOperations) {
		if _, there := ecs.Operations[name]; !there {
			t.Errorf("%s is not in the table of operations", name)
		}
		fails := slices.ContainsFunc(scenario, func(s step) bool { return s.operation == name && s.wantError != "" })
		succeeds := slices.ContainsFunc(scenario, func(s step) bool { return s.operation == name && s.wantError == "" })
		if !fails {
			t.Errorf("the scenario has no error of %s", name)
		}
		if _, never := alwaysRefused[name]; succeeds == never {
			t.Errorf("the scenario has a success of %s: %v", name, succeeds)
		}
	}
}

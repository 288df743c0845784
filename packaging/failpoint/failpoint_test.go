package failpoint

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// passing makes this test's own program one that passes two points three times each.
const passing = "FAILPOINT_PASSING"

func init() {
	if os.Getenv(passing) == "" {
		return
	}
	for range 3 {
		Reached(TaskAssigned)
		os.Stdout.WriteString("a")
		Reached(ReportSent)
		os.Stdout.WriteString("b")
	}
	os.Exit(0)
}

func TestAProcessEndsAtItsPointAndNowhereElse(t *testing.T) {
	for choice, want := range map[string]string{
		"": "ababab", "report-sent": "a", "report-sent:1": "a", "task-assigned:2": "ab", "report-sent:3": "ababa", "report-sent:4": "ababab", "no-such-point": "ababab",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), passing+"=1", Variable+"="+choice)
		var out, problem bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problem
		err := cmd.Run()
		killed := false
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			killed = ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		}
		lived := want == "ababab"
		name, _, _ := strings.Cut(choice, ":")
		if out.String() != want || killed == lived || !lived && !strings.Contains(problem.String(), Line(Point(name))) {
			t.Errorf("%q: %q, killed %v, says %q", choice, out.String(), killed, problem.String())
		}
	}
}

func TestANormalRunHasNoPoint(t *testing.T) {
	if chosen != nil {
		t.Errorf("%s is set", Variable)
	}
	if n := testing.AllocsPerRun(100, func() { Reached(EntryStored) }); n != 0 {
		t.Errorf("a point allocates %v times", n)
	}
}

func TestPointsHaveNamesOfTheirOwn(t *testing.T) {
	sorted := slices.Sorted(slices.Values(Points))
	if len(slices.Compact(sorted)) != len(Points) || len(Points) < 25 {
		t.Errorf("%d points, of which %d have a name of their own", len(Points), len(slices.Compact(sorted)))
	}
}

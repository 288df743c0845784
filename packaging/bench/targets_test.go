package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
)

// measuredResults are results of a run as they are written and read again.
func measuredResults(t *testing.T, text string, more ...[]benchfmt.Value) *results {
	t.Helper()
	var out bytes.Buffer
	written := newResults(&out)
	for _, values := range more {
		if err := written.add("Host/start", 30, values...); err != nil {
			t.Fatal(err)
		}
	}
	r := newResults(&bytes.Buffer{})
	if err := r.read(strings.NewReader(out.String() + text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultsAreInTheGoBenchmarkFormat(t *testing.T) {
	var out bytes.Buffer
	r := newResults(&out)
	if err := r.add("Host/start", 30, took("p50", 85*time.Millisecond), measured(1.5, "wrongly-lost")); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "\nBenchmarkHost/start-") || !strings.Contains(text, " 30 8.5e+07 p50-ns 1.5 wrongly-lost\n") {
		t.Errorf("written is\n%s", text)
	}
	again := newResults(&bytes.Buffer{})
	if err := again.read(&out); err != nil {
		t.Fatal(err)
	}
	if v, ok := again.value("Host/start", "p50-sec"); !ok || v != 0.085 {
		t.Errorf("read again p50 is %v, %v", v, ok)
	}
}

func TestAValueIsFoundWhateverTheNumberOfProcessors(t *testing.T) {
	r := measuredResults(t, "BenchmarkOne-16 1 5 x/op\nBenchmarkTwo 1 6 x/op\nBenchmarkThree/slow-clients=8-2 1 7 x/op\n")
	for name, want := range map[string]float64{"One": 5, "Two": 6, "Three/slow-clients=8": 7} {
		if got, ok := r.value(name, "x/op"); !ok || got != want {
			t.Errorf("%s is %v, %v", name, got, ok)
		}
	}
	if _, ok := r.value("One", "y/op"); ok {
		t.Error("a unit was found that is not there")
	}
}

func TestAValueIsTheMedianOfAllRuns(t *testing.T) {
	r := measuredResults(t, "BenchmarkOne-2 1 9 x/op\nBenchmarkOne-2 1 1 x/op\nBenchmarkOne-2 1 4 x/op\n")
	if got, ok := r.value("One", "x/op"); !ok || got != 4 {
		t.Errorf("it is %v, %v", got, ok)
	}
}

func TestTargetsAreMissedByLittleOrByMuch(t *testing.T) {
	metrics := []metric{
		{"A", "p50-sec", "at most one second", below(1), source{}},
		{"A", "rate/s", "at least 100", above(100), source{}},
		{"A", "x", "at most twice y", times(2, own("y"), 0), own("y")},
		{"B", "n", "none", exactly(below(0)), source{"A", "y"}},
		{"C", "n", "was not measured", below(0), source{}},
	}
	for _, c := range []struct{ text, missed, failed string }{
		{"BenchmarkA-2 1 900000000 p50-ns 100 rate/s 4 x 2 y\nBenchmarkB-2 1 0 n\n", "", ""},
		{"BenchmarkA-2 1 1200000000 p50-ns 80 rate/s 5 x 2 y\nBenchmarkB-2 1 0 n\n", "at most one second,at least 100,at most twice y", ""},
		{"BenchmarkA-2 1 1400000000 p50-ns 70 rate/s 6 x 2 y\nBenchmarkB-2 1 1 n\n", "at most one second,at least 100,at most twice y,none", "at most one second,at least 100,at most twice y,none"},
	} {
		all, err := evaluate(measuredResults(t, c.text), metrics)
		if err != nil || len(all) != 4 {
			t.Fatalf("%d metrics, %v", len(all), err)
		}
		var missed, failed []string
		for _, v := range all {
			m, f := v.missed()
			if m {
				missed = append(missed, v.what)
			}
			if f {
				failed = append(failed, v.what)
			}
		}
		if got := strings.Join(missed, ","); got != c.missed {
			t.Errorf("%smissed are %s, want %s", c.text, got, c.missed)
		}
		if got := strings.Join(failed, ","); got != c.failed || len(failures(all)) != len(failed) {
			t.Errorf("%sfailed are %s, want %s", c.text, got, c.failed)
		}
	}
	if _, err := evaluate(measuredResults(t, "BenchmarkA-2 1 4 x\n"), metrics); err == nil || !strings.Contains(err.Error(), "2 x y") {
		t.Errorf("a reference that was not measured: %v", err)
	}
}

func TestTheTableIsForPeople(t *testing.T) {
	all, err := evaluate(measuredResults(t, "", []benchfmt.Value{
		took("p50", 85*time.Millisecond), took("p99", 700*time.Millisecond), took("containerd-p50", 80*time.Millisecond), took("containerd-p99", 90*time.Millisecond),
	}), metrics)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := table(&out, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RunTask accepted -> started, p50   85ms    containerd-p50-sec 80ms   at most 1.15 x containerd-p50-sec", "at most 500ms", "FAILED"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestEveryMetricIsNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range metrics {
		key := m.benchmark + " " + m.unit
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if m.target.kind == watched && m.target != (target{}) {
			t.Errorf("%s has half a target: %+v", key, m.target)
		}
	}
}

func TestMistakesInFlagsAreExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"there is no part \"fast\"":  {"-only", "host,fast"},
		"says nothing":               {"-n", "3"},
		"a fleet has at least":       {"-hosts", "1"},
		"no such file":               {"-compare", file + "er"},
		"name the same file":         {"-compare", file, "-save", file},
		"flag provided but not defi": {"-quick"},
	} {
		if _, err := parseOptions(args); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	if o, err := parseOptions([]string{"-only", "pool,fleet", "-compare", file}); err != nil || o.only != "pool,fleet" {
		t.Errorf("%+v, %v", o, err)
	}
}

// A part of the bench that fails leaves what was measured before it, and is the run's error.
func TestWhatWasMeasuredIsPrintedWhenAPartFails(t *testing.T) {
	before := parts
	t.Cleanup(func() { parts = before })
	parts = []part{
		{"one", func(_ context.Context, _ options, r *results) error {
			return r.add("Build", 1, measured(100e6, "binary-B"))
		}},
		{"two", func(context.Context, options, *results) error { return errors.New("the disk is on fire") }},
	}
	saved := filepath.Join(t.TempDir(), "new.txt")
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), options{only: "one,two", save: saved, count: 2}, &stdout, &stderr)
	if err == nil || !strings.Contains(err.Error(), "two: the disk is on fire") || !strings.Contains(err.Error(), "bin/pinion is 100 MB, the target is at most 75 MB") {
		t.Errorf("the error is %v", err)
	}
	text, readErr := os.ReadFile(saved)
	if readErr != nil || string(text) != stdout.String() || !strings.Contains(stdout.String(), " 1e+08 binary-B") {
		t.Errorf("printed is %q, saved %q, %v", stdout.String(), text, readErr)
	}
}

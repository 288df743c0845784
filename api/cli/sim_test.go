package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSimulationAsksForEveryPolicyAndSeed(t *testing.T) {
	asked := SimConfig{}
	p := Program{Simulate: func(_ context.Context, c SimConfig, _ func(int, int)) ([]SimRun, error) {
		asked = c
		return []SimRun{{Trace: "small", Policy: "fgd", Seed: 7, Allocated90: 89.5, Allocated130: 95.25, Unallocated130: 4.75}}, nil
	}}
	var out, progress strings.Builder
	app := New(p)
	app.Writer, app.ErrWriter = &out, &progress
	line := "pinion -o json sim --hosts h.csv --tasks t.csv --policy default,fgd --seeds 7..9 --inflate 1.5"
	if err := app.Run(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	if asked.Hosts != "h.csv" || asked.Tasks != "t.csv" || !slices.Equal(asked.Policies, []string{"default", "fgd"}) ||
		asked.From != 7 || asked.To != 9 || asked.Inflate != 1.5 {
		t.Errorf("asked for %+v", asked)
	}
	var got struct{ Runs []map[string]any }
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if run := got.Runs[0]; run["trace"] != "small" || run["allocated_at_130"] != 95.25 || run["unallocated_at_130"] != 4.75 {
		t.Errorf("printed %v", run)
	}
}

func TestSimulationSaysWhatIsWrongWithItsFlags(t *testing.T) {
	for line, want := range map[string]string{
		"":                   "needs --hosts FILE and --tasks FILE",
		"--seeds 9..7":       "the last seed is before the first",
		"--seeds 1..100000":  "at most 1000 seeds",
		"--seeds few":        "write one number, or two as A..B",
		"--inflate 1":        "--inflate 1: must be from 1.3",
		"--inflate NaN":      "--inflate NaN: must be",
		"--hosts h -o xml":   "is not one of table, wide, json",
		"--policy fgd extra": "takes no argument",
	} {
		t.Run(line, func(t *testing.T) {
			app := New(Program{Simulate: func(context.Context, SimConfig, func(int, int)) ([]SimRun, error) {
				return nil, errors.New("nothing was to be replayed")
			}})
			var out strings.Builder
			app.Writer, app.ErrWriter = &out, &out
			files := "--hosts h --tasks t "
			if line == "" {
				files = ""
			}
			err := app.Run(strings.Fields("pinion sim " + files + line))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}

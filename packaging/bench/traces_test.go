package main

import (
	"strings"
	"testing"

	"pinion/server/schedule/replay"
)

func TestReplaysAreComparedCellByCell(t *testing.T) {
	published := map[run][2]float64{
		{"default", "FGD", 42}:     {95.14, 95.29},
		{"default", "BestFit", 42}: {93.01, 93.14},
		{"default", "Random", 42}:  {86.17, 87.26},
	}
	runs := []replay.Run{
		{Trace: "default", Policy: "fgd", Seed: 42, Allocated100: 95.14, Allocated130: 95.29, Unallocated130: 4.71},
		{Trace: "default", Policy: "bestfit", Seed: 42, Allocated100: 93.01, Allocated130: 93.15, Unallocated130: 6.85},
		{Trace: "default", Policy: "random", Seed: 42, Allocated100: 86, Allocated130: 88.26, Unallocated130: 11.74},
		{Trace: "default", Policy: "default", Seed: 42, Allocated100: 95.73, Allocated130: 95.83, Unallocated130: 4.17},
	}
	var got []string
	for _, f := range append(tableFigures(runs, published), packingFigures(runs)...) {
		got = append(got, f.got+" | "+f.reference)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"3 of 4 | ", "1 of 1 | ", "0.10 points | ", "4.17 % | FGD 4.71 %, 0.89 x"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

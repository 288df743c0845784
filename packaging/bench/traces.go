package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/server/schedule/replay"
)

// The published traces, and the seeds that they were replayed with.
const (
	firstSeed, lastSeed = 42, 51
	inflate             = 1.3
	traceLists          = "server/schedule/replay/testdata"
)

// publishedPolicies are the columns of expected.csv by our names, each with its own there.
var publishedPolicies = map[string]string{
	"random": "Random", "dotprod": "DotProd", "clustering": "GpuClustering", "packing": "GpuPacking", "bestfit": "BestFit", "fgd": "FGD",
}

var traceNames = []string{"cpu200", "default", "gpushare40", "gpuspec33", "multigpu50"}

// measureTraces replays every published run and our own policy with the same seeds.
func measureTraces(ctx context.Context, _ options) ([]figure, error) {
	published, err := readPublished(filepath.Join(traceLists, "expected.csv"))
	if err != nil {
		return nil, err
	}
	var runs []replay.Run
	var single []time.Duration
	begin := time.Now()
	for _, name := range traceNames {
		study, err := replay.Open(filepath.Join(traceLists, "openb_node_list_gpu_node.csv.gz"), filepath.Join(traceLists, "openb_pod_list_"+name+".csv.gz"))
		if err != nil {
			return nil, err
		}
		study.Policies, study.From, study.To, study.Inflate = []string{"default"}, lastSeed, lastSeed, inflate
		alone := time.Now()
		if _, err := study.Run(ctx, func(int, int) {}); err != nil {
			return nil, err
		}
		single = append(single, time.Since(alone))
		study.Policies, study.From = []string{"random", "dotprod", "clustering", "packing", "bestfit", "fgd", "default"}, firstSeed
		more, err := study.Run(ctx, func(int, int) {})
		if err != nil {
			return nil, err
		}
		runs = append(runs, more...)
	}
	figures := append(tableFigures(runs, published), packingFigures(runs)...)
	return append(figures,
		figure{"replay of one trace and seed, default, slowest of the traces", ms(slices.Max(single)), "-", "at most 1 s"},
		figure{fmt.Sprintf("replay of all %d runs on %d cores", len(runs), runtime.GOMAXPROCS(0)), time.Since(begin).Round(time.Second).String(), "-", "at most 10 min"},
	), nil
}

// run names one replay.
type run struct {
	trace, policy string
	seed          int64
}

// readPublished is what was allocated at 100 and at 130 %.
func readPublished(file string) (map[run][2]float64, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	rows, err := csv.NewReader(opened).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	published := map[run][2]float64{}
	for _, row := range rows[1:] {
		seed, err1 := strconv.ParseInt(row[2], 10, 64)
		at100, err2 := strconv.ParseFloat(row[5], 64)
		at130, err3 := strconv.ParseFloat(row[6], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		published[run{row[0], row[1], seed}] = [2]float64{at100, at130}
	}
	return published, nil
}

// tableFigures compare with the published table.
func tableFigures(runs []replay.Run, published map[run][2]float64) []figure {
	equal, cells, exact, fgd, off := 0, 0, 0, 0, 0.0
	for _, name := range traceNames {
		var got, want float64
		for _, r := range runs {
			cell, known := published[run{r.Trace, publishedPolicies[r.Policy], r.Seed}]
			switch {
			case !known || r.Trace != name:
				continue
			case r.Policy == "random":
				got, want = got+r.Allocated130, want+cell[1]
				continue
			case r.Policy == "fgd":
				fgd++
				if cell == [2]float64{r.Allocated100, r.Allocated130} {
					exact++
				}
			}
			for i, allocated := range []float64{r.Allocated100, r.Allocated130} {
				cells++
				if allocated == cell[i] {
					equal++
				}
			}
		}
		off = max(off, math.Abs(got-want)/(lastSeed-firstSeed+1))
	}
	return []figure{
		{"published cells at 100 and 130 % that are equal to two decimals", fmt.Sprintf("%d of %d", equal, cells), "the paper's artifact", "all but 5"},
		{"runs of FGD that are exact", fmt.Sprintf("%d of %d", exact, fgd), "the paper's artifact", "all"},
		{"random: mean allocated at 130 % against the published, worst trace", fmt.Sprintf("%.2f points", off), "-", "at most 0.3"},
	}
}

// packingFigures set our own policy beside the paper's best.
func packingFigures(runs []replay.Run) []figure {
	mean := func(trace, policy string) float64 {
		sum, n := 0.0, 0
		for _, r := range runs {
			if r.Policy == policy && (trace == "" || r.Trace == trace) {
				sum, n = sum+r.Unallocated130, n+1
			}
		}
		return sum / float64(n)
	}
	percent := func(x float64) string { return fmt.Sprintf("%.2f %%", x) }
	var figures []figure
	for _, trace := range traceNames {
		figures = append(figures, figure{"GPUs unallocated at 130 %, " + trace, percent(mean(trace, "default")),
			"FGD " + percent(mean(trace, "fgd")), "FGD + 0.1 at most"})
	}
	ours, theirs := mean("", "default"), mean("", "fgd")
	return append(figures, figure{"GPUs unallocated at 130 %, mean of " + strings.Join(traceNames, ", "), percent(ours),
		fmt.Sprintf("FGD %s, %.2f x", percent(theirs), ours/theirs), "0.92 x FGD"})
}

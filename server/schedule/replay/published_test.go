package replay

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// ours are the names of the published policies as pack has them.
var ours = map[string]string{
	"Random": "random", "DotProd": "dotprod", "GpuClustering": "clustering", "GpuPacking": "packing", "BestFit": "bestfit", "FGD": "fgd",
}

// published are the results of the paper's artifact.
func published(t testing.TB) []Run {
	t.Helper()
	file, err := os.Open("testdata/expected.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for _, row := range rows[1:] {
		number := func(column int) float64 {
			x, err := strconv.ParseFloat(row[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		runs = append(runs, Run{
			Trace: row[0], Policy: ours[row[1]], Seed: int64(number(2)), Allocated90: number(3), Allocated95: number(4),
			Allocated100: number(5), Allocated130: number(6), Unallocated130: twoDecimals(100 - number(6)),
		})
	}
	return runs
}

// TestPublishedRunsComeOutAgain replays the first seed of every trace and policy; the bench replays all of them.
func TestPublishedRunsComeOutAgain(t *testing.T) {
	const seed = 42
	wanted := slices.DeleteFunc(published(t), func(r Run) bool { return r.Seed != seed })
	if len(wanted) != 30 {
		t.Fatalf("there are %d published runs of seed %d, not 30", len(wanted), seed)
	}
	slices.SortStableFunc(wanted, func(a, b Run) int { return cmp.Compare(a.Trace, b.Trace) })
	var experiment Experiment
	for _, want := range wanted {
		if experiment.Trace != want.Trace {
			experiment = trace(t, want.Trace)
		}
		got, err := experiment.one(want.Policy, seed)
		if err != nil {
			t.Fatal(err)
		}
		if want.Policy == "random" {
			// Its draws are not those of the artifact, only as many of the same kind.
			if math.Abs(got.Allocated130-want.Allocated130) > 1 {
				t.Errorf("%s random: %.2f %% allocated in the end, published are %.2f", want.Trace, got.Allocated130, want.Allocated130)
			}
			continue
		}
		if got != want {
			t.Errorf("%s %s\n got %+v\nwant %+v", want.Trace, want.Policy, got, want)
		}
	}
}

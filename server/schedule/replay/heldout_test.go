package replay

import (
	"math/rand"
	"slices"
	"testing"
)

// mixture is what becomes of a recorded task in another workload: none, itself, many, or one that asks for something else.
type mixture func(Task, *rand.Rand) []Task

// mixtures are workloads that the policy was not made with.
var mixtures = map[string]mixture{
	"shares only":     func(t Task, _ *rand.Rand) []Task { return times(t.GPUs == 0 || t.Shares(), 2, t) },
	"no share":        func(t Task, _ *rand.Rand) []Task { return times(!t.Shares(), 1, t) },
	"no CPU work":     func(t Task, _ *rand.Rand) []Task { return times(t.GPUs > 0, 1, t) },
	"twice CPU work":  func(t Task, _ *rand.Rand) []Task { return append(times(t.GPUs == 0, 1, t), t) },
	"many GPUs":       func(t Task, _ *rand.Rand) []Task { return append(times(t.GPUs > 1, 8, t), t) },
	"some want T4":    func(t Task, rng *rand.Rand) []Task { return []Task{wants(t, rng, "T4")} },
	"some want P100s": func(t Task, rng *rand.Rand) []Task { return []Task{wants(t, rng, "P100|V100M16")} },
	"resampled":       func(t Task, rng *rand.Rand) []Task { return times(true, rng.Intn(3), t) },
}

func times(kept bool, n int, t Task) []Task {
	if !kept {
		return nil
	}
	return slices.Repeat([]Task{t}, n)
}

// wants is the task, and for each fifth GPU task one that needs these models.
func wants(t Task, rng *rand.Rand, models string) Task {
	if t.GPUs > 0 && rng.Intn(5) == 0 {
		t.Models = models
	}
	return t
}

// The bench has the published traces with all seeds; this one holds the policy to the same bounds on other workloads: never
// worse than the best of the paper by more than 0.1 points, and in the mean at most 0.92 of what that leaves unallocated.
func TestDefaultPacksWorkloadsThatNobodyMeasured(t *testing.T) {
	recorded := trace(t, "default")
	var ours, theirs float64
	for name, mix := range mixtures {
		experiment, rng := recorded, rand.New(rand.NewSource(1))
		experiment.Tasks = nil
		for _, task := range recorded.Tasks {
			experiment.Tasks = append(experiment.Tasks, mix(task, rng)...)
		}
		fgd, err := experiment.one("fgd", 7)
		if err != nil {
			t.Fatal(err)
		}
		got, err := experiment.one("default", 7)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: unallocated %.2f %%, fgd %.2f %%", name, got.Unallocated130, fgd.Unallocated130)
		if got.Unallocated130 > fgd.Unallocated130+0.1 {
			t.Errorf("%s: worse than fgd", name)
		}
		ours, theirs = ours+got.Unallocated130, theirs+fgd.Unallocated130
	}
	if ours > 0.92*theirs {
		t.Errorf("in the mean %.3f of what fgd leaves", ours/theirs)
	}
}

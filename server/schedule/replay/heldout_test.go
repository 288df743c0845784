package replay

import (
	"math/rand"
	"slices"
	"testing"
)

// TestDefaultPacksWorkloadsThatNobodyMeasured changes the mixture of the recorded tasks, in ways that the policy was not
// made with, and compares with the best of the paper. The bench has the published traces with all seeds.
func TestDefaultPacksWorkloadsThatNobodyMeasured(t *testing.T) {
	recorded := trace(t, "default")
	for name, keep := range map[string]func(Task, *rand.Rand) int{
		"shares only": func(task Task, _ *rand.Rand) int { return times(task.GPUs == 0 || task.Shares(), 2) },
		"no share":    func(task Task, _ *rand.Rand) int { return times(!task.Shares(), 1) },
		"no CPU work": func(task Task, _ *rand.Rand) int { return times(task.GPUs > 0, 1) },
		"many GPUs":   func(task Task, _ *rand.Rand) int { return 1 + times(task.GPUs > 1, 8) },
		"resampled":   func(_ Task, rng *rand.Rand) int { return rng.Intn(3) },
	} {
		t.Run(name, func(t *testing.T) {
			study, rng := recorded, rand.New(rand.NewSource(1))
			study.Tasks = nil
			for _, task := range recorded.Tasks {
				study.Tasks = append(study.Tasks, slices.Repeat([]Task{task}, keep(task, rng))...)
			}
			theirs, err := study.one("fgd", 7)
			if err != nil {
				t.Fatal(err)
			}
			got, err := study.one("default", 7)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("unallocated %.2f %%, fgd %.2f %%", got.Unallocated130, theirs.Unallocated130)
			if got.Unallocated130 > theirs.Unallocated130+0.1 {
				t.Errorf("unallocated at 130 %%: %.2f %%, with fgd it is %.2f %%", got.Unallocated130, theirs.Unallocated130)
			}
		})
	}
}

func times(kept bool, n int) int {
	if kept {
		return n
	}
	return 0
}

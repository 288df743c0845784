package pack

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTheScorerIsTheDefaultPolicyOnWholeGPUs: what the planner asks for hosts in use is what replays of traces measure.
func TestTheScorerIsTheDefaultPolicyOnWholeGPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.Custom(func(t *rapid.T) Shape {
			return Shape{CPU: 1000 * rapid.Int64Range(0, 32).Draw(t, "cpu"), GPUs: rapid.IntRange(1, 8).Draw(t, "gpus"), Milli: Whole}
		})
		policy, counts := newLookahead(), map[Shape]int{}
		for _, s := range rapid.SliceOf(shape).Draw(t, "arrived") {
			policy.add(s, 1)
			counts[s]++
		}
		policy.common = policy.shapes()
		host := Host{CPU: 1000 * rapid.Int64Range(0, 128).Draw(t, "cpu"), MemoryMiB: 1}
		for range rapid.IntRange(0, MostGPUs).Draw(t, "gpus") {
			host.Free = append(host.Free, Whole*rapid.IntRange(0, 1).Draw(t, "idle"))
		}
		s := shape.Draw(t, "shape")
		if !host.Fits(&s) {
			return
		}
		if got, want := NewFragmentationScorer(counts).Score(host.CPU, host.with(Whole), s), policy.Score(&host, &s); got != want {
			t.Fatalf("it scores %v, want %v", got, want)
		}
	})
}

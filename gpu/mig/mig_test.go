package mig_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu/mig"
)

const h100 = "NVIDIA H100 80GB HBM3"

func TestEachModelHasItsProfiles(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA A100-SXM4-40GB":   "7g.40gb, 4g.20gb, 3g.20gb, 2g.10gb, 1g.10gb, 1g.5gb",
		"NVIDIA A100-SXM4-80GB":   "7g.80gb, 4g.40gb, 3g.40gb, 2g.20gb, 1g.20gb, 1g.10gb",
		"NVIDIA A100 80GB PCIe":   "7g.80gb, 4g.40gb, 3g.40gb, 2g.20gb, 1g.20gb, 1g.10gb",
		h100:                      "7g.80gb, 4g.40gb, 3g.40gb, 2g.20gb, 1g.20gb, 1g.10gb",
		"NVIDIA H100 NVL":         "7g.94gb, 4g.47gb, 3g.47gb, 2g.24gb, 1g.24gb, 1g.12gb",
		"NVIDIA H200":             "7g.141gb, 4g.71gb, 3g.71gb, 2g.35gb, 1g.35gb, 1g.18gb",
		"NVIDIA B200":             "7g.180gb, 4g.90gb, 3g.90gb, 2g.45gb, 1g.45gb, 1g.23gb",
		"Tesla T4":                "",
		"NVIDIA GeForce RTX 4090": "",
	} {
		if got := mig.Names(mig.Profiles(model)); got != want {
			t.Errorf("%s has %q, want %q", model, got, want)
		}
	}
}

// The rules are of NVIDIA's guide to MIG: 7 slices of multiprocessors, 8 of memory, and places at which each profile may be.
func TestTheDriverHasPlacesForSomeCombinations(t *testing.T) {
	for names, fits := range map[string]bool{
		"1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb": true,
		"1g.10gb 1g.10gb 1g.10gb 1g.10gb 3g.40gb":                 true,
		"3g.40gb 3g.40gb":                         true,
		"2g.20gb 2g.20gb 2g.20gb 1g.20gb":         true,
		"7g.80gb":                                 true,
		"4g.40gb 1g.10gb 1g.10gb 1g.10gb":         true,
		"4g.40gb 3g.40gb":                         true,
		"4g.40gb 3g.40gb 1g.10gb":                 false,
		"4g.40gb 4g.40gb":                         false,
		"3g.40gb 3g.40gb 1g.10gb":                 false,
		"7g.80gb 1g.10gb":                         false,
		"2g.20gb 2g.20gb 2g.20gb 2g.20gb":         false,
		"1g.20gb 1g.20gb 1g.20gb 1g.20gb 1g.10gb": false,
		"1g.5gb": false,
	} {
		l, ok := mig.Arrange(h100, strings.Fields(names))
		if ok != fits || ok && l.Check(h100) != nil {
			t.Errorf("%s: %v (%v), want %t", names, l, l.Check(h100), fits)
		}
	}
}

// A small MIG device goes where a large one still fits.
func TestOneMoreGoesWhereItLeavesTheMost(t *testing.T) {
	for _, k := range []struct {
		before mig.Layout
		add    string
		then   string // still fits
	}{
		{nil, "1g.10gb", "4g.40gb"},
		{nil, "2g.20gb", "4g.40gb"},
		{nil, "3g.40gb", "4g.40gb"},
		{mig.Layout{{"1g.10gb", 6}}, "1g.10gb", "4g.40gb"},
		{mig.Layout{{"1g.10gb", 0}}, "1g.10gb", "3g.40gb"},
		{mig.Layout{{"2g.20gb", 4}}, "1g.10gb", "4g.40gb"},
	} {
		added, ok := k.before.Add(h100, k.add)
		if !ok {
			t.Errorf("%v has no place for %s", k.before, k.add)
			continue
		}
		l := k.before.With(added)
		if _, ok := l.Add(h100, k.then); !ok || l.Check(h100) != nil {
			t.Errorf("%v with %s is %v, and has no place for %s", k.before, k.add, l, k.then)
		}
	}
	if added, ok := (mig.Layout{{"7g.80gb", 0}}).Add(h100, "1g.10gb"); ok {
		t.Errorf("a full GPU takes %v", added)
	}
}

// Whatever is added and taken away: a layout is one that the driver takes, and Add refuses only what has no place.
func TestLayoutsAreValid(t *testing.T) {
	profiles := mig.Profiles(h100)
	rapid.Check(t, func(t *rapid.T) {
		var l mig.Layout
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(l) > 0 && rapid.Bool().Draw(t, "take one away") {
				gone := rapid.SampledFrom(l).Draw(t, "which")
				l = l.Without(func(i mig.Instance) bool { return i == gone })
				continue
			}
			name := rapid.SampledFrom(profiles).Draw(t, "profile").Name
			added, ok := l.Add(h100, name)
			if ok {
				l = l.With(added)
			} else {
				for start := range 8 {
					if l.With(mig.Instance{Profile: name, Start: start}).Check(h100) == nil {
						t.Fatalf("%v has a place for %s at %d", l, name, start)
					}
				}
			}
			if err := l.Check(h100); err != nil {
				t.Fatal(err)
			}
		}
	})
}

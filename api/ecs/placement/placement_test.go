package placement

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

func TestStrategiesAreWrittenInOneForm(t *testing.T) {
	got, err := ParseStrategies([]spec.PlacementStrategy{
		{Type: "spread", Field: "attribute:ecs.availability-zone"}, {Type: "spread", Field: "host"}, {Type: "binpack", Field: "MEMORY"},
		{Type: "binpack", Field: "gpu"}, {Type: "random", Field: "x"},
	})
	want := []spec.PlacementStrategy{
		{Type: "spread", Field: "attribute:ecs.availability-zone"}, {Type: "spread", Field: "instanceId"}, {Type: "binpack", Field: "memory"},
		{Type: "binpack", Field: "gpu"}, {Type: "random"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStrategiesAreChecked(t *testing.T) {
	for _, c := range []struct {
		strategies []spec.PlacementStrategy
		path, says string
	}{
		{[]spec.PlacementStrategy{{Type: "pack"}}, "placementStrategy[0].type", `"pack"`},
		{[]spec.PlacementStrategy{{Type: "random"}, {Type: "binpack", Field: "disk"}}, "placementStrategy[1].field", `"disk"`},
		{[]spec.PlacementStrategy{{Type: "spread"}}, "placementStrategy[0].field", "attribute:NAME"},
		{[]spec.PlacementStrategy{{Type: "spread", Field: "attribute:"}}, "placementStrategy[0].field", `"attribute:"`},
		{[]spec.PlacementStrategy{{Type: "spread", Field: "attribute:" + strings.Repeat("a", 129)}}, "placementStrategy[0].field", "at most 128"},
		{make([]spec.PlacementStrategy, 6), "placementStrategy", "at most 5 items, not 6"},
	} {
		_, err := ParseStrategies(c.strategies)
		wrong, ok := errors.AsType[*field.Error](err)
		if !ok || wrong.Path != c.path || !strings.Contains(wrong.Message, c.says) {
			t.Errorf("%v: %v, want what is wrong with %s: %s", c.strategies, err, c.path, c.says)
		}
	}
}

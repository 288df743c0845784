package tags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

func many(n int) []spec.Tag {
	var all []spec.Tag
	for i := range n {
		all = append(all, spec.Tag{Key: fmt.Sprintf("k%d", i)})
	}
	return all
}

// wantError checks that an error is about the member at a path, and that the message has a text in it.
func wantError(t *testing.T, err error, path, says string) {
	t.Helper()
	wrong, ok := errors.AsType[*field.Error](err)
	if !ok || wrong.Path != path || !strings.Contains(wrong.Message, says) {
		t.Errorf("got %v, want what is wrong with %s: %s", err, path, says)
	}
}

func TestTagsHaveECSsRules(t *testing.T) {
	for _, c := range []struct {
		tags       []spec.Tag
		path, says string
	}{
		{[]spec.Tag{}, "tags", "Tags can not be empty."},
		{[]spec.Tag{{Value: "v"}}, "tags[0].key", "1 to 128 characters"},
		{[]spec.Tag{{Key: strings.Repeat("x", 129)}}, "tags[0].key", "1 to 128 characters"},
		{[]spec.Tag{{Key: "AWS:x"}}, "tags[0].key", "reserved"},
		{[]spec.Tag{{Key: "a"}, {Key: "b*"}}, "tags[1].key", `"b*"`},
		{[]spec.Tag{{Key: "a", Value: "!"}}, "tags[0].value", `"!"`},
		{[]spec.Tag{{Key: "a", Value: strings.Repeat("x", 257)}}, "tags[0].value", "256"},
		{[]spec.Tag{{Key: "a"}, {Key: "a"}}, "tags[1].key", "twice"},
		{many(51), "tags", "at most 50 items, not 51"},
	} {
		wantError(t, Check(c.tags), c.path, c.says)
	}
	for _, tags := range [][]spec.Tag{nil, many(50), {{Key: "ärger über", Value: "ß @1"}}, {{Key: strings.Repeat("ß", 128), Value: strings.Repeat("ß", 256)}}} {
		if err := Check(tags); err != nil {
			t.Errorf("%v: %v", tags, err)
		}
	}
	wantError(t, CheckKeys([]string{"a", "aws:ecs:clusterName"}), "tagKeys[1]", "reserved")
}

func TestSchedulingTagsHaveKnownKeysAndValues(t *testing.T) {
	for tag, c := range map[spec.Tag]struct{ path, says string }{
		{Key: "pinion.lost-after", Value: "soon"}: {"tags", "pinion.lost-after"},
		{Key: "pinion.priority", Value: "high"}:   {"tags", "pinion.priority"},
		{Key: "pinion.owner", Value: "me"}:        {"tags[0].key", strings.Join(spec.ReservedTagKeys(), ", ")},
	} {
		wantError(t, CheckScheduling([]spec.Tag{tag}), c.path, c.says)
	}
	if err := CheckScheduling([]spec.Tag{{Key: "owner", Value: "me"}, {Key: "pinion.priority", Value: "7"}}); err != nil {
		t.Error(err)
	}
}

func TestTheTagsOfACallCountBeforeThoseOfTheDefinition(t *testing.T) {
	base, over := []spec.Tag{{Key: "team", Value: "vision"}, {Key: "cost", Value: "low"}}, []spec.Tag{{Key: "cost", Value: "high"}}
	if got := Merge(base, over); !slices.Equal(got, []spec.Tag{{Key: "cost", Value: "high"}, {Key: "team", Value: "vision"}}) {
		t.Errorf("%v", got)
	}
	if base[1].Value != "low" || len(over) != 1 {
		t.Error("the lists that were given have changed")
	}
}

package spec

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestOptionsAreReadFromTags(t *testing.T) {
	got, err := ParseSchedulingOptions([]Tag{
		{"owner", "ada"}, {TagPriority, "70"}, {TagTeam, "vision"}, {TagTimeLimit, "90m"}, {TagPreemptible, "true"},
		{TagRetries, "3"}, {TagRetryOn, "1 137"}, {TagGang, "true"},
		{TagAfter, "t1 any:arn:aws:ecs:eu-1:123456789012:task/default/t2 any:group:prepare"},
	})
	want := SchedulingOptions{
		Priority: 70, Team: "vision", TimeLimit: 90 * time.Minute, Preemptible: true, Retries: 3, RetryOn: []int{1, 137}, Gang: true,
		Dependencies: []TaskDependency{{Task: "t1"}, {Task: "t2", Any: true}, {Group: "prepare", Any: true}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOptionsOutOfRangeAreNamed(t *testing.T) {
	for tag, values := range map[string][]string{
		TagPriority: {"101", "-1", "high"}, TagTimeLimit: {"1", "0s", "soon"}, TagPreemptible: {"yes", ""}, TagRetries: {"101"},
		TagRetryOn: {"256", "1,2"}, TagAfter: {"group:", "any:", strings.Repeat("t ", MaxDependencies+1)}, TagGang: {"1"},
	} {
		for _, value := range values {
			_, err := ParseSchedulingOptions([]Tag{{tag, value}})
			if err == nil || !strings.Contains(err.Error(), tag) {
				t.Errorf("%s=%q: %v", tag, value, err)
			}
		}
	}
}

func TestWhatATaskWaitsForIsWrittenAsItIsRead(t *testing.T) {
	for _, word := range []string{"0123", "any:0123", "group:nightly", "any:group:nightly"} {
		all, err := parseDependencies(word)
		if err != nil || len(all) != 1 || all[0].String() != word {
			t.Errorf("%s was read as %v, %v", word, all, err)
		}
	}
}

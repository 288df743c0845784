package spec

import (
	"fmt"
	"strings"
)

// Blocked says whether something has to end before the task may get a place; see Wait.After.
func (t *Task) Blocked() bool {
	return t.LastStatus == Provisioning && t.Queue != nil && len(t.Queue.UnmetDependencies) > 0
}

// Dependencies lists the unmet dependencies of the task: what has to end before it may get a place.
func (t *Task) Dependencies() []TaskDependency {
	if !t.Blocked() {
		return nil
	}
	var all []TaskDependency
	for _, word := range t.Queue.UnmetDependencies {
		after, _ := parseDependencies(word) // it is written by String
		all = append(all, after...)
	}
	return all
}

// TaskDependency is one thing that has to end before a task may start.
type TaskDependency struct {
	Task  string // an id; the last attempt at its work counts
	Group string // all tasks of the group; set when Task is not
	Any   bool   // it does not matter how it ends; else every essential container has to exit with 0
}

// String is the word of TagAfter that says it.
func (a TaskDependency) String() string {
	word := a.Task
	if a.Group != "" {
		word = "group:" + a.Group
	}
	if a.Any {
		word = "any:" + word
	}
	return word
}

// Describe says to people what has to happen before: "task 3f2a... to succeed".
func (a TaskDependency) Describe() string {
	text := "task " + a.Task
	if a.Group != "" {
		text = "group " + a.Group
	}
	if a.Any {
		return text + " to end"
	}
	return text + " to succeed"
}

func parseDependencies(s string) ([]TaskDependency, error) {
	var all []TaskDependency
	for _, word := range strings.Fields(s) {
		var a TaskDependency
		word, a.Any = strings.CutPrefix(word, "any:")
		if group, is := strings.CutPrefix(word, "group:"); is {
			a.Group = group
		} else {
			a.Task = word[strings.LastIndex(word, "/")+1:] // of an ARN, too
		}
		if a.Task == "" && a.Group == "" {
			return nil, fmt.Errorf(`write task ids with spaces between, or "group:NAME", each after "any:" when it may fail`)
		}
		all = append(all, a)
	}
	if len(all) > MaxDependencies {
		return nil, fmt.Errorf("it names %d things, at most %d are allowed", len(all), MaxDependencies)
	}
	return all, nil
}

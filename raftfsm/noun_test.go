package raftfsm

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// omissions are what a noun neither has nor says why it does without.
func (t *nounTable[T]) omissions() (all []string) {
	object := reflect.TypeFor[T]()
	has := func(name string, of reflect.Type) bool {
		f, there := object.FieldByName(name)
		return there && f.Type == of
	}
	omitted := func(is bool, what string) {
		if is {
			all = append(all, what)
		}
	}
	omitted((t.changes == nil) == (t.noChanges == ""), "changes, or noChanges and why")
	omitted((t.changes == nil) != (len(t.emits) == 0), "emits, the kinds of its changes")
	omitted((t.expired == nil) == (t.noExpiry == ""), "expired, or noExpiry and why")
	omitted(t.expired == nil && has("DeletedAt", reflect.TypeFor[time.Time]()), "expired: a deleted one is not kept for ever")
	omitted(t.afterReap != nil && t.expired == nil, "expired: nothing is reaped")
	omitted(has("Cluster", reflect.TypeFor[string]()) && (t.keepsCluster == nil) == (t.noCluster == ""), "keepsCluster, or noCluster and why")
	omitted(has("Tags", reflect.TypeFor[[]spec.Tag]()) != (t.tags != nil), "tags")
	return all
}

func omissionsOf(table anyTable) []string {
	return table.(interface{ omissions() []string }).omissions()
}

func TestNothingIsForgottenOfANoun(t *testing.T) {
	for _, table := range tables {
		for _, missing := range omissionsOf(table) {
			t.Errorf("the noun of table %s has not: %s", table.Name(), missing)
		}
	}
}

func TestWhatIsForgottenIsNoticed(t *testing.T) {
	byName := table.By(func(w *window) string { return w.Name })
	complete := tableWindows.noun
	for name, change := range map[string]func(n *noun[window]){
		"changes":      func(n *noun[window]) { n.changes = nil },
		"emits":        func(n *noun[window]) { n.emits = nil },
		"expired":      func(n *noun[window]) { n.expired = nil },
		"keepsCluster": func(n *noun[window]) { n.keepsCluster = nil },
		"tags":         func(n *noun[window]) { n.tags = nil },
		"both":         func(n *noun[window]) { n.noChanges = "nobody asks" },
	} {
		incomplete := complete
		incomplete.indexes = []*table.Index[window]{byName}
		change(&incomplete)
		if got := omissionsOf(&nounTable[window]{noun: incomplete}); len(got) == 0 {
			t.Errorf("without %s nothing is missing", name)
		}
	}
	if got := omissionsOf(&nounTable[window]{noun: complete}); len(got) > 0 {
		t.Errorf("the complete one misses %v", got)
	}
}

func TestTablesStandBehindWhatTheyReferTo(t *testing.T) {
	named := func(name string, refersTo ...string) anyTable {
		return &nounTable[window]{noun: noun[window]{refersTo: refersTo}, Table: table.New[window](name)}
	}
	var names []string
	for _, sorted := range table.InOrder([]anyTable{named("a", "c", "unknown"), named("b"), named("c", "d"), named("d")}, anyTable.references) {
		names = append(names, sorted.Name())
	}
	if !slices.Equal(names, []string{"b", "d", "c", "a"}) {
		t.Errorf("%v", names)
	}
	for problem, all := range map[string][]anyTable{
		"in a circle": {named("a", "b"), named("b", "a")}, "registered twice": {named("a"), named("a")},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, problem) {
					t.Errorf("%s: %q", problem, text)
				}
			}()
			table.InOrder(all, anyTable.references)
		}()
	}
}

// Everything that refers to another table finds it.
func TestTablesReferToTables(t *testing.T) {
	for _, table := range tables {
		for _, other := range table.references() {
			if tableNamed(other) == nil {
				t.Errorf("%s refers to %s, which is no table", table.Name(), other)
			}
		}
	}
}

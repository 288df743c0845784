package table

import (
	"fmt"
	"maps"
	"slices"
)

// InOrder sorts tables by name, each after the tables that it refers to. Two of one name, and a circle, are faults of the program.
func InOrder[A Any](all []A, references func(A) []string) (sorted []A) {
	left := map[string]A{}
	for _, t := range all {
		if _, twice := left[t.Name()]; twice {
			panic(fmt.Sprintf("table %s is registered twice", t.Name()))
		}
		left[t.Name()] = t
	}
	waits := func(name string) bool { _, is := left[name]; return is }
	for len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		next := slices.IndexFunc(names, func(name string) bool { return !slices.ContainsFunc(references(left[name]), waits) })
		if next < 0 {
			panic(fmt.Sprintf("tables refer to one another in a circle: %v", names))
		}
		sorted = append(sorted, left[names[next]])
		delete(left, names[next])
	}
	return sorted
}

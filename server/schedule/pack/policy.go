package pack

import (
	"fmt"
	"strings"
)

// Names are the policies that New knows: Pinion's own, and those of the paper.
var Names = []string{"default", "random", "dotprod", "clustering", "packing", "bestfit", "fgd"}

// New makes a policy by its name. tasks is the workload from which fgd derives its common shapes (it knows the whole
// workload in advance); draw(n) returns a random number below n, for random. The other policies need neither.
func New(name string, tasks []Shape, draw func(n int) int) (Policy, error) {
	switch name {
	case "random":
		return random{draw}, nil
	case "dotprod":
		return dotprod{}, nil
	case "clustering":
		return clustering{}, nil
	case "packing":
		return packing{}, nil
	case "bestfit":
		return bestfit{}, nil
	case "default":
		return newLookahead(), nil
	case "fgd":
		return newFGD(tasks), nil
	}
	return nil, fmt.Errorf("there is no policy %q; policies are %s", name, strings.Join(Names, ", "))
}

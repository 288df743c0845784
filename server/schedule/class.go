package schedule

import (
	"encoding/binary"
	"slices"

	"pinion/raftfsm/query"
	"pinion/server/schedule/pack"
)

// class is what requests have in common for which every host is the same.
type class struct {
	needs   string
	outlook *pack.Outlook // nil for tasks without GPUs
}

// plain reports whether every host is to the request what it is to all of its class, whatever tasks are there beside what
// they hold.
func (a *ask) plain() bool {
	return !a.distinct && len(a.strategy) == 0 && !slices.ContainsFunc(a.members, (*query.Expr).ReadsTasks)
}

func (a *ask) class() class {
	c := class{needs: a.needs()}
	if a.wantsGPUs {
		c.outlook = a.outlook
	}
	return c
}

// needs is all of a plain request that the filters and the cost look at, in a form that differs when it does.
func (a *ask) needs() string {
	if a.text == "" {
		a.text = a.spell()
	}
	return a.text
}

func (a *ask) spell() string {
	d := &a.demand
	text := binary.AppendVarint(make([]byte, 0, 256), d.CPU)
	text = binary.AppendVarint(text, d.MemoryMiB)
	for _, list := range [][]int{d.Ports, d.UDPPorts, d.GPUs} {
		text = binary.AppendVarint(text, int64(len(list)))
		for _, n := range list {
			text = binary.AppendVarint(text, int64(n))
		}
	}
	add := func(s string) { text = append(binary.AppendVarint(text, int64(len(s))), s...) }
	add(a.escapes)
	for _, required := range a.attributes {
		add(required.Name)
		add(required.Value)
	}
	add("") // no attribute is called so
	for _, expression := range a.members {
		add(expression.String())
	}
	return string(text)
}

package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu/mig"
)

// maxGPUs is the largest number of GPUs in one machine that the driver knows.
const maxGPUs = 32

// group is the GPUs of a machine that are of one model.
type group struct {
	model
	count     int
	partition mig.Layout // of each GPU
}

// parseMachine reads "8xh100", "4xh100+2xt4" of a machine with GPUs of several models, or "2xh100+2xh100/7x1g.10gb" of one with MIG devices.
func parseMachine(spec string) (groups []group, err error) {
	total := 0
	for part := range strings.SplitSeq(spec, "+") {
		whole, profiles, isPartitioned := strings.Cut(part, "/")
		m, count, err := parse(whole)
		if err != nil {
			return nil, err
		}
		g := group{model: m, count: count}
		if isPartitioned {
			if g.partition, err = parsePartition(profiles, m); err != nil {
				return nil, badSpec(spec, err.Error())
			}
		}
		if !isPartitioned && slices.ContainsFunc(groups, func(g group) bool { return g.key == m.key && g.partition == nil }) {
			return nil, badSpec(spec, m.key+" is there twice: write one count for it")
		}
		if of := groupsOf(append(groups, g), m.key); slots(of) > len(m.slots) {
			return nil, badSpec(spec, fmt.Sprintf("a machine has at most %d of %s", len(m.slots), m.key))
		}
		groups = append(groups, g)
		if total += count; total > maxGPUs {
			return nil, badSpec(spec, fmt.Sprintf("a machine has at most %d GPUs", maxGPUs))
		}
		if m.driver != groups[0].driver {
			return nil, badSpec(spec, fmt.Sprintf("no driver serves both %s and %s", groups[0].key, m.key))
		}
	}
	return groups, nil
}

// specFile names the file with the text of which the machine was made: who changes it from outside learns of its models from that.
const specFile = "machine"

// modelAt is the model of a GPU of the simulated machine in the directory.
func modelAt(dir string, index int) (*model, error) {
	spec, err := os.ReadFile(filepath.Join(dir, specFile))
	if err != nil {
		return nil, fmt.Errorf("simulated GPUs: %w", err)
	}
	groups, err := parseMachine(string(spec))
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= slots(groups) {
		return nil, fmt.Errorf("the simulated machine has no GPU %d", index)
	}
	return &groupAt(groups, index).model, nil
}

// groupsOf are the groups of a model.
func groupsOf(groups []group, key string) (all []group) {
	for _, g := range groups {
		if g.key == key {
			all = append(all, g)
		}
	}
	return all
}

// slots is the number of GPUs of the groups.
func slots(groups []group) (n int) {
	for _, g := range groups {
		n += g.count
	}
	return n
}

// parse reads "8xh100": the number of GPUs and their model.
func parse(spec string) (model, int, error) {
	number, key, ok := strings.Cut(spec, "x")
	if !ok {
		return model{}, 0, badSpec(spec, "it has no count and model")
	}
	at := slices.IndexFunc(models, func(m model) bool { return m.key == strings.ToLower(key) })
	if at < 0 {
		return model{}, 0, badSpec(spec, fmt.Sprintf("%q is not a model", key))
	}
	m := models[at]
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > len(m.slots) {
		return model{}, 0, badSpec(spec, fmt.Sprintf("%q is not a count that a machine with %s has", number, m.key))
	}
	return m, count, nil
}

func badSpec(spec, why string) error {
	var known []string
	for _, m := range models {
		known = append(known, fmt.Sprintf("%s (1 to %d)", m.key, len(m.slots)))
	}
	return fmt.Errorf("cannot simulate GPUs %q: %s; write COUNTxMODEL, as in 8xh100, with + between several, 1xh100/7x1g.10gb for GPUs with MIG devices, or 8xh100,mps for GPUs that can be shared, with one of the models %s", spec, why, strings.Join(known, ", "))
}

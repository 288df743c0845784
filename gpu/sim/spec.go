package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxGPUs is the largest number of GPUs in one machine that the driver knows.
const maxGPUs = 32

// group is the GPUs of a machine that are of one model.
type group struct {
	model
	count int
}

// parseMachine reads "8xh100", or "4xh100+2xt4" of a machine with GPUs of several models.
func parseMachine(spec string) (groups []group, err error) {
	total := 0
	for part := range strings.SplitSeq(spec, "+") {
		m, count, err := parse(part)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(groups, func(g group) bool { return g.key == m.key }) {
			return nil, badSpec(spec, m.key+" is there twice: write one count for it")
		}
		groups = append(groups, group{m, count})
		if total += count; total > maxGPUs {
			return nil, badSpec(spec, fmt.Sprintf("a machine has at most %d GPUs", maxGPUs))
		}
		if m.driver != groups[0].driver {
			return nil, badSpec(spec, fmt.Sprintf("no driver serves both %s and %s", groups[0].key, m.key))
		}
	}
	return groups, nil
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
	return fmt.Errorf("cannot simulate GPUs %q: %s; write COUNTxMODEL, as in 8xh100, with + between several, or 8xh100,mps for GPUs that can be shared, with one of the models %s", spec, why, strings.Join(known, ", "))
}

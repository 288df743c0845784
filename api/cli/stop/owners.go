package stop

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// noteOwners tells which of the stopped tasks somebody else had run. It is a courtesy: where the pool does not say who asks, nothing is told.
func noteOwners(ctx context.Context, inv *invocation.Invocation, stopped []client.Task) {
	owner, err := inv.Owner(ctx)
	if err != nil {
		return
	}
	others := map[string][]string{}
	for _, task := range stopped {
		if key := format.Key(task); key != cmp.Or(owner, format.Root) {
			others[key] = append(others[key], format.ID(task.ID()))
		}
	}
	if len(others) == 0 {
		return
	}
	name := invocation.KeyNamesOrIDs(ctx, inv.Client)
	for _, key := range slices.Sorted(maps.Keys(others)) {
		inv.Notef("run by %s, not by you: %s", name(key), format.List(others[key]))
	}
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// noteOwners tells which of the stopped tasks somebody else had run. It is a courtesy: where the pool does not say who asks, nothing is told.
func noteOwners(ctx context.Context, inv *invocation.Invocation, stopped []client.Task) {
	holder, err := inv.Holder(ctx)
	if err != nil {
		return
	}
	others := map[string][]string{}
	for _, task := range stopped {
		if key := format.Key(task); key != cmp.Or(holder, format.Root) {
			others[key] = append(others[key], format.ID(task.ID()))
		}
	}
	if len(others) == 0 {
		return
	}
	name := namesOrIDs(ctx, inv.Client)
	for _, key := range slices.Sorted(maps.Keys(others)) {
		inv.Notef("run by %s, not by you: %s", name(key), format.List(others[key]))
	}
}

// namesOrIDs names keys, by their ids when nobody tells their names.
func namesOrIDs(ctx context.Context, c *client.Client) func(id string) string {
	name, err := invocation.KeyNames(ctx, c)
	if err != nil {
		return func(id string) string { return id }
	}
	return name
}

// ownersTimeout bounds how long `pinion down` asks whose tasks it is about to end.
const ownersTimeout = 2 * time.Second

// ownersHere counts the tasks of this machine's host by who ran them: "2 of ci, 1 of root". Empty when the host does not answer: `pinion down` does without.
func ownersHere(ctx context.Context, dataDir string) string {
	ctx, done := context.WithTimeout(ctx, ownersTimeout)
	defer done()
	host, err := client.New(client.Config{Socket: filepath.Join(dataDir, "pinion.sock")})
	if err != nil {
		return ""
	}
	self, err := host.HostID(ctx)
	if err != nil {
		return ""
	}
	hosts, err := host.Hosts(ctx)
	at := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == self })
	if err != nil || at < 0 {
		return ""
	}
	tasks, err := client.ListedTasks(ctx, host, hosts[at].Cluster)
	if err != nil {
		return ""
	}
	count := map[string]int{}
	for _, task := range tasks {
		if client.ResourceID(task.Instance) == self && !task.Stopped() {
			count[format.Key(task)]++
		}
	}
	var owners []string
	name := namesOrIDs(ctx, host)
	for _, key := range slices.Sorted(maps.Keys(count)) {
		owners = append(owners, fmt.Sprintf("%d of %s", count[key], name(key)))
	}
	return strings.Join(owners, ", ")
}

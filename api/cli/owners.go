package cli

import (
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
	name := invocation.KeyNamesOrIDs(ctx, host)
	for _, key := range slices.Sorted(maps.Keys(count)) {
		owners = append(owners, fmt.Sprintf("%d of %s", count[key], name(key)))
	}
	return strings.Join(owners, ", ")
}

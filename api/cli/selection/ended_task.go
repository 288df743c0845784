package selection

import (
	"context"
	"slices"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// minDigits is how many digits of an id are looked up in the history: fewer are those of too many tasks.
const minDigits = 4

// endedTask is a task of the history that a word means: the one whose id begins with it, or the last one that ended of that name. Empty when
// there is none, or the history cannot be asked: then the tasks that the pool has are the answer.
func endedTask(ctx context.Context, inv *invocation.Invocation, cluster, word string) string {
	if len(word) >= minDigits && digits.MatchString(word) {
		tasks, _, more, err := client.EndedTasks(ctx, inv.Client, client.HistoryQuery{Cluster: cluster, ID: word}, 1)
		if err == nil && len(tasks) == 1 && !more {
			return tasks[0].Task.ID()
		}
	}
	name := parseName(word)
	var keep func([]client.EndedTask) ([]client.EndedTask, error)
	if name.base != word {
		keep = func(page []client.EndedTask) ([]client.EndedTask, error) {
			return slices.DeleteFunc(page, func(e client.EndedTask) bool { return !name.isOf(e.Task) }), nil
		}
	}
	for _, family := range name.families() {
		tasks, _, _, err := client.EndedTasksThat(ctx, inv.Client, client.HistoryQuery{Cluster: cluster, Family: family}, 1, keep)
		if err == nil && len(tasks) == 1 {
			return tasks[0].Task.ID()
		}
	}
	return ""
}

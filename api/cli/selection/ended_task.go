package selection

import (
	"context"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// minDigits is how many digits of an id are looked up in the history: fewer are those of too many tasks.
const minDigits = 4

// endedTask is a task of the history that a word means: the one whose id begins with it, or the last one that ended of that family. Empty when
// there is none, or the history cannot be asked: then the tasks that the pool has are the answer.
func endedTask(ctx context.Context, inv *invocation.Invocation, cluster, word string) string {
	queries := []client.HistoryQuery{{Cluster: cluster, Family: word}, {Cluster: cluster, Family: "run-" + word}}
	if len(word) >= minDigits && digits.MatchString(word) {
		queries = append([]client.HistoryQuery{{Cluster: cluster, ID: word}}, queries...)
	}
	for _, q := range queries {
		tasks, _, more, err := client.EndedTasks(ctx, inv.Client, q, 1)
		if err == nil && len(tasks) == 1 && (q.ID == "" || !more) {
			return tasks[0].Task.ID()
		}
	}
	return ""
}

package client

import "context"

// TaskChange is a change of tasks that wait in the queue, or that are sent back to it.
type TaskChange string

// The changes that ChangeTasks makes.
const (
	HoldTasks       TaskChange = "HoldTasks"       // keeps pending tasks out of the queue
	ReleaseTasks    TaskChange = "ReleaseTasks"    // lets them in again
	SetTaskPriority TaskChange = "SetTaskPriority" // of pending tasks
	RequeueTasks    TaskChange = "RequeueTasks"    // stops tasks, whose work is done again from the queue
)

// TaskChanges says which tasks were changed, and why the others were not.
type TaskChanges struct {
	ARNs     []string  `json:"taskArns"`
	Failures []Failure `json:"failures"`
}

// ChangeTasks makes a change to tasks by id, any number of them. The options are members of the call beside the tasks: "reason" or "priority".
// After an error some of the tasks may be changed.
func ChangeTasks(ctx context.Context, c *Client, change TaskChange, cluster string, ids []string, options map[string]any) (TaskChanges, error) {
	all := TaskChanges{ARNs: []string{}, Failures: []Failure{}}
	for len(ids) > 0 {
		in := map[string]any{"cluster": cluster, "tasks": ids[:min(len(ids), describeLimit)]}
		ids = ids[min(len(ids), describeLimit):]
		for name, value := range options {
			in[name] = value
		}
		var some TaskChanges
		if err := c.Call(ctx, string(change), in, &some); err != nil {
			return all, err
		}
		all.ARNs, all.Failures = append(all.ARNs, some.ARNs...), append(all.Failures, some.Failures...)
	}
	return all, nil
}

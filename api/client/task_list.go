package client

import (
	"context"
	"net/url"
	"slices"
)

// listedTask is a Task without the document that Task keeps: of many tasks that would take most of the time.
type listedTask Task

// ListedTasks lists the tasks of a cluster by their ids, those that stopped within the last hour included, with what lists show of
// each. They have no overrides, names of containers and images, and no document to marshal: DescribeTasks has the rest.
// With an error it returns those that it has read before.
func ListedTasks(ctx context.Context, c *Client, cluster string) ([]Task, error) {
	var tasks []Task
	for parameters := (url.Values{"cluster": {cluster}}); ; {
		var page struct {
			Tasks []*listedTask `json:"tasks"` // many large ones: they are not copied while the list grows
			Next  string        `json:"next"`
		}
		if err := c.Get(ctx, "/v1/tasks", parameters, &page); err != nil {
			return tasks, err
		}
		tasks = slices.Grow(tasks, len(page.Tasks))
		for _, task := range page.Tasks {
			tasks = append(tasks, Task(*task))
		}
		if page.Next == "" {
			return tasks, nil
		}
		parameters.Set("after", page.Next)
	}
}

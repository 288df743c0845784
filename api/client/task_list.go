package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// listedTask is a Task without the document that Task keeps: of many tasks that would take most of the time.
type listedTask Task

// ListedTasks lists the tasks of a cluster by their ids, those that stopped within the last hour included, with what lists show of
// each. They have no overrides, names of containers and images, and no document to marshal: DescribeTasks has the rest.
// With an error it returns those that it has read before.
func ListedTasks(ctx context.Context, c *Client, cluster string) ([]Task, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tasks []Task
	for next := askTasks(ctx, c.transport, url.Values{"cluster": {cluster}}); next != nil; {
		answer := <-next
		if answer.err != nil {
			return tasks, answer.err
		}
		if next = nil; answer.next != nil { // the host makes the next page while this one is read
			next = askTasks(ctx, c.transport, answer.next)
		}
		var page struct {
			Tasks []*listedTask `json:"tasks"` // many large ones: they are not copied while the list grows
			Next  string        `json:"next"`  // a host that does not say so in the header says it here
		}
		if err := decode(tasksPath, answer.body, &page); err != nil {
			return tasks, err
		}
		tasks = slices.Grow(tasks, len(page.Tasks))
		for _, task := range page.Tasks {
			tasks = append(tasks, Task(*task))
		}
		if next == nil && page.Next != "" {
			next = askTasks(ctx, c.transport, url.Values{"cluster": {cluster}, "after": {page.Next}})
		}
	}
	return tasks, nil
}

const tasksPath = "/v1/tasks"

// tasksAnswer is a page of the list of tasks as the host sent it.
type tasksAnswer struct {
	body []byte
	next url.Values // the query of the next page; nil: there is none
	err  error
}

// askTasks asks for a page of the list of tasks, and returns at once.
func askTasks(ctx context.Context, t *transport, query url.Values) <-chan tasksAnswer {
	answers := make(chan tasksAnswer, 1)
	go func() {
		var answer tasksAnswer
		var header http.Header
		if header, answer.body, answer.err = t.read(ctx, tasksPath, query); answer.err == nil {
			answer.next = nextPage(header)
		}
		answers <- answer
	}()
	return answers
}

// nextPage is the query of the page that comes after one, as its header says (RFC 8288); nil when it is the last one.
func nextPage(header http.Header) url.Values {
	reference, is := strings.CutSuffix(header.Get("Link"), `>; rel="next"`)
	if !is {
		return nil
	}
	next, err := url.Parse(strings.TrimPrefix(reference, "<"))
	if err != nil {
		return nil
	}
	return next.Query()
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// listedTask is a Task without the document that Task keeps: of many tasks that would take most of the time.
type listedTask Task

// ListedTasks lists the tasks of a cluster by their ids, those that stopped within the last hour included, with what lists show of
// each. They have no overrides, names of containers and images, and no document to marshal: DescribeTasks has the rest.
// With an error it returns those that it has read before.
func ListedTasks(ctx context.Context, c *Client, cluster string) ([]Task, error) {
	pages, err := listedPages(ctx, c.transport, cluster)
	count := 0
	for _, page := range pages {
		count += len(page().Tasks)
	}
	tasks := make([]Task, 0, count)
	for _, page := range pages {
		if page().err != nil {
			return tasks, page().err
		}
		for _, task := range page().Tasks {
			tasks = append(tasks, Task(*task))
		}
	}
	return tasks, err
}

// listedPage is a page of the list of tasks.
type listedPage struct {
	Tasks []*listedTask `json:"tasks"` // many large ones: they are not copied while the list grows
	Next  string        `json:"next"`  // a host that does not say so in the header says it here
	err   error
}

// listedPages asks for the pages of the list of tasks until there are no more. Each returned function waits until its page is decoded, which
// goes on while the host makes the next ones.
func listedPages(ctx context.Context, t *transport, cluster string) (pages []func() listedPage, err error) {
	for query := (url.Values{"cluster": {cluster}}); query != nil; {
		header, body, err := t.read(ctx, tasksPath, query)
		if err != nil {
			return pages, err
		}
		page := sync.OnceValue(func() (page listedPage) {
			page.err = decode(tasksPath, body, &page)
			return page
		})
		pages, query = append(pages, page), nextPage(header)
		if query != nil {
			go page()
		} else if next := page().Next; next != "" {
			query = url.Values{"cluster": {cluster}, "after": {next}}
		}
	}
	return pages, nil
}

const tasksPath = "/v1/tasks"

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

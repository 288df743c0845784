package history

import (
	"context"

	"pinion/raftfsm/ended"
	"pinion/server/rpc"
)

// File is the name of the file of the history in a data directory.
const File = "history.db"

// Local forwards to the History of the server on this host. Where the host is no server its methods return the error of Get.
type Local struct {
	Get func() (*History, error)
}

// Handler gives a part of the history to another server.
func (l Local) Handler() rpc.HandlerFunc {
	return rpc.ServerJSON(func(_ context.Context, _ string, r Request) (Transfer, error) {
		h, err := l.Get()
		if err != nil {
			return Transfer{}, err
		}
		return h.Read(r)
	})
}

// ReadFrom is Config.Read by a client that reaches servers.
func ReadFrom(servers *rpc.Client) func(ctx context.Context, address string, r Request) (Transfer, error) {
	return func(ctx context.Context, address string, r Request) (part Transfer, err error) {
		return part, servers.Call(ctx, address, PathRead, r, &part)
	}
}

// Find is History.Find.
func (l Local) Find(q ended.Query) (ended.Page, error) {
	h, err := l.Get()
	if err != nil {
		return ended.Page{}, err
	}
	return h.Find(q)
}

// Task is History.Task.
func (l Local) Task(id string) (*ended.Task, error) {
	h, err := l.Get()
	if err != nil {
		return nil, err
	}
	return h.Task(id)
}

// IDs is History.IDs.
func (l Local) IDs(prefix string, limit int) ([]string, error) {
	h, err := l.Get()
	if err != nil {
		return nil, err
	}
	return h.IDs(prefix, limit)
}

// Usage is History.Usage.
func (l Local) Usage(q ended.UsageQuery) (ended.Usage, error) {
	h, err := l.Get()
	if err != nil {
		return ended.Usage{}, err
	}
	return h.Usage(q)
}

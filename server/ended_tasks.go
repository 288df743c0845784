package server

import (
	"context"

	"pinion/raftfsm/ended"
	"pinion/server/backup"
	"pinion/server/history"
)

// historyFile holds the tasks that have ended, in the data directory.
const historyFile = "history.db"

// newHistory makes the history of this server, which follows its state.
func (s *Server) newHistory() *history.History {
	config := history.Config{Path: s.cfg.HistoryFile, State: s.state, Limits: s.cfg.KeepTasks, Now: s.node.Now, Log: s.log}
	if peers := s.cfg.peers; peers != nil {
		config.Others = s.otherServers
		config.Read = func(ctx context.Context, address string, r history.Request) (part history.Transfer, err error) {
			return part, peers.Call(ctx, address, history.PathRead, r, &part)
		}
	}
	return history.New(config)
}

// handleHistory gives a part of this server's history to another server.
func (a *peerAPI) handleHistory(_ context.Context, _ string, r history.Request) (history.Transfer, error) {
	h, err := EndedTasks{a.server}.history()
	if err != nil {
		return history.Transfer{}, err
	}
	return h.Read(r)
}

// history is that of the server here.
func (e EndedTasks) history() (*history.History, error) {
	own, err := e.server.get()
	if err != nil {
		return nil, err
	}
	if own.history == nil {
		return nil, errNotServer
	}
	return own.history, nil
}

// EndedTasks answers questions about tasks that have ended. Its methods are those of history.History, and fail with spec.ErrNotLeader
// where this host is no server.
type EndedTasks struct{ server *localServer }

// archive is the history for a snapshot of the state at an index.
func (e EndedTasks) archive(ctx context.Context, index uint64) (past backup.History, err error) {
	h, err := e.history()
	if err == nil {
		past.About, past.Blocks, err = h.Archive(ctx, index)
	}
	return past, err
}

// Find lists tasks.
func (e EndedTasks) Find(q ended.Query) (ended.Page, error) {
	h, err := e.history()
	if err != nil {
		return ended.Page{}, err
	}
	return h.Find(q)
}

// Task is one task, nil when it is not known.
func (e EndedTasks) Task(id string) (*ended.Task, error) {
	h, err := e.history()
	if err != nil {
		return nil, err
	}
	return h.Task(id)
}

// IDs lists the ids that begin with these digits.
func (e EndedTasks) IDs(prefix string, limit int) ([]string, error) {
	h, err := e.history()
	if err != nil {
		return nil, err
	}
	return h.IDs(prefix, limit)
}

// Usage sums up.
func (e EndedTasks) Usage(q ended.UsageQuery) (ended.Usage, error) {
	h, err := e.history()
	if err != nil {
		return ended.Usage{}, err
	}
	return h.Usage(q)
}

package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"pinion/raftfsm"
)

// Join records the host as it describes itself and what it runs, and returns the ids of tasks that it should not run. A
// cluster that nobody has created yet is created by the first host that names it.
func (s *Server) Join(ctx context.Context, host raftfsm.Host, running []raftfsm.TaskReport) ([]string, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.RUnlock()
	t, err := s.leading()
	if err != nil {
		return nil, s.explain(err)
	}
	now := s.cfg.Now()
	if s.state.View().Cluster(host.Cluster) == nil {
		cluster := raftfsm.Cluster{Name: host.Cluster, Status: raftfsm.ClusterActive, CreatedAt: now}
		if _, err := s.record(ctx, raftfsm.CreateCluster{Cluster: cluster}); err != nil {
			return nil, err
		}
	}
	if host.RegisteredAt.IsZero() {
		host.RegisteredAt = now
	}
	if _, err := s.record(ctx, raftfsm.PutHost{Host: host}); err != nil {
		return nil, err
	}
	unknown, err := s.report(ctx, host.ID, running)
	if err == nil {
		t.beats.heard(host.ID, now)
	}
	return unknown, err
}

// newsLimit is how many reports of hosts are recorded together at most.
const newsLimit = 256

// news is one call of Report, heard its answer.
type news struct {
	host    string
	reports []raftfsm.TaskReport
}

type heard struct {
	unknown []string
	err     error
}

// Report records the latest report of each task and returns the ids of tasks that the host should not run. Reports of
// one host that arrive while others are being recorded share one entry.
func (s *Server) Report(ctx context.Context, hostID string, reports []raftfsm.TaskReport) ([]string, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.RUnlock()
	if _, err := s.leading(); err != nil {
		return nil, s.explain(err)
	}
	return s.report(ctx, hostID, reports)
}

func (s *Server) report(ctx context.Context, hostID string, reports []raftfsm.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	answer, err := s.news.do(ctx, news{hostID, reports})
	if err != nil {
		return nil, err
	}
	return answer.unknown, answer.err
}

// hear records a batch of reports, one entry for each host, all of them at once.
func (s *Server) hear(batch []news) []heard {
	byHost := make(map[string]*raftfsm.ReportTasks)
	for _, n := range batch {
		if byHost[n.host] == nil {
			byHost[n.host] = &raftfsm.ReportTasks{HostID: n.host}
		}
		byHost[n.host].Reports = append(byHost[n.host].Reports, n.reports...)
	}
	var (
		entries sync.WaitGroup
		mu      sync.Mutex
		answers = make(map[string]heard)
	)
	for host, entry := range byHost {
		entries.Go(func() {
			unknown, err := s.record(context.Background(), *entry)
			ids, _ := unknown.([]string)
			mu.Lock()
			defer mu.Unlock()
			answers[host] = heard{ids, err}
		})
	}
	entries.Wait()
	all := make([]heard, len(batch))
	for i, n := range batch {
		all[i] = heard{n.among(answers[n.host].unknown), answers[n.host].err}
	}
	return all
}

// among keeps the ids that this call reported.
func (n news) among(ids []string) []string {
	var mine []string
	for _, id := range ids {
		if slices.ContainsFunc(n.reports, func(r raftfsm.TaskReport) bool { return r.TaskID == id }) {
			mine = append(mine, id)
		}
	}
	return mine
}

// Assignments waits until what the host must run differs from what index after stands for, and returns all of it with
// the index to ask from next time; 0 asks for an answer at once. A host's own reports do not wake it.
// raftfsm.ErrNotFound when the pool does not know the host: it must join first.
func (s *Server) Assignments(ctx context.Context, hostID string, after uint64) ([]raftfsm.Assignment, uint64, error) {
	if err := s.begin(); err != nil {
		return nil, 0, err
	}
	defer s.calls.RUnlock()
	t, err := s.leading()
	if err != nil {
		return nil, 0, err
	}
	for {
		list, index, changed, err := s.watched.look(s.state, hostID)
		if err != nil || index != after {
			return list, index, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		case <-t.ctx.Done():
			return nil, 0, ErrNotLeader
		case <-s.closing:
			return nil, 0, errClosed
		}
	}
}

// watched remembers since which index each host's assignments are as they are. It is only memory: a leader that has
// none answers at once with the same list again, which changes nothing on the host.
type watched struct {
	mu    sync.Mutex
	hosts map[string]sight
}

// sight is a list of assignments, reduced to what a host acts on, and the index at which it was first seen.
type sight struct {
	index uint64
	tasks []wanted
}

type wanted struct {
	task    string
	desired raftfsm.Status
}

// look reads the host's assignments now and since when they are so; changed is closed when they may be others.
func (w *watched) look(state *raftfsm.State, hostID string) (list []raftfsm.Assignment, since uint64, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view := state.View()
	if view.Host(hostID) == nil {
		return nil, 0, nil, fmt.Errorf("host %s: %w", hostID, raftfsm.ErrNotFound)
	}
	list, changed = view.Assignments(hostID)
	var tasks []wanted
	for _, a := range list {
		tasks = append(tasks, wanted{a.Task.ID, a.Task.DesiredStatus})
	}
	before, known := w.hosts[hostID]
	if known && slices.Equal(before.tasks, tasks) {
		return list, before.index, changed, nil
	}
	if w.hosts == nil {
		w.hosts = make(map[string]sight)
	}
	w.hosts[hostID] = sight{view.Index(), tasks}
	return list, view.Index(), changed, nil
}

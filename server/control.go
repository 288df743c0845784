package server

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// entered is the answer to a host that joined: what it should not run, and the index of the state that knows it.
type entered struct {
	Unknown []string `json:"unknown,omitempty"`
	Index   uint64   `json:"index"`
}

// entering is a host that wants to be known.
type entering struct {
	Host    spec.Host         `json:"host"`
	Running []spec.TaskReport `json:"running,omitempty"`
}

// Join records the host as it describes itself and what it runs, and returns the ids of tasks that it should not run. A
// cluster that nobody has created yet, or that was deleted, is created by the first host that names it. A server that does not lead has the
// leader do it, and answers when its own state has caught up with that.
func (s *Server) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.RUnlock()
	var answer entered
	err := s.atLeader(ctx, func(t *term) (err error) {
		answer, err = s.enter(ctx, t, entering{host, running})
		return err
	}, func(ctx context.Context, address string) error {
		return s.cfg.calls.post(ctx, address, pathEnter, entering{host, running}, &answer)
	})
	if err == nil {
		err = s.reach(ctx, answer.Index)
	}
	return answer.Unknown, err
}

// enter is Join on the leader.
func (s *Server) enter(ctx context.Context, t *term, e entering) (entered, error) {
	now := s.cfg.Now()
	if known := s.state.View().Cluster(e.Host.Cluster); known == nil || known.Status != spec.ClusterActive {
		cluster := spec.Cluster{Name: e.Host.Cluster, Status: spec.ClusterActive, CreatedAt: now}
		if _, err := s.record(ctx, raftfsm.CreateCluster{Cluster: cluster}); err != nil {
			return entered{}, err
		}
	}
	if e.Host.RegisteredAt.IsZero() {
		e.Host.RegisteredAt = now
	}
	if e.Host.HealthAt = now; s.state.View().MayWrite(raftfsm.PutHost{Host: e.Host}) != nil {
		e.Host.HealthAt = time.Time{} // a server of the pool does not know it yet
	}
	if _, err := s.record(ctx, raftfsm.PutHost{Host: e.Host}); err != nil {
		return entered{}, err
	}
	unknown, err := s.report(ctx, e.Host.ID, e.Running)
	if err != nil {
		return entered{}, err
	}
	t.beats.heard(e.Host.ID, now)
	return entered{unknown, s.state.View().Index()}, nil
}

// newsLimit is how many reports of hosts are recorded together at most.
const newsLimit = 256

// news is one call of Report, heard its answer.
type news struct {
	Host    string            `json:"host"`
	Reports []spec.TaskReport `json:"reports"`
}

type heard struct {
	Unknown []string `json:"unknown,omitempty"`
	Fault   *fault   `json:"fault,omitempty"`
}

// Report records the latest report of each task and returns the ids of tasks that the host should not run. Reports that
// arrive while others are being recorded go on together: one call to the leader, and there one entry for each host.
func (s *Server) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.RUnlock()
	return s.report(ctx, hostID, reports)
}

func (s *Server) report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	answer, err := s.news.do(ctx, news{hostID, reports})
	if err != nil {
		return nil, err
	}
	return answer.Unknown, answer.Fault.err()
}

// tell has the leader hear a batch of reports.
func (s *Server) tell(batch []news) []heard {
	answers := make([]heard, len(batch))
	err := s.atLeader(context.Background(), func(*term) error {
		answers = s.hear(batch)
		return nil
	}, func(ctx context.Context, address string) error {
		return s.cfg.calls.post(ctx, address, pathReport, batch, &answers)
	})
	if err != nil || len(answers) != len(batch) {
		answers = make([]heard, len(batch))
		for i := range answers {
			answers[i].Fault = faultOf(cmp.Or(err, ErrOutcomeUnknown))
		}
	}
	return answers
}

// hear records a batch of reports, one entry for each host, all of them at once.
func (s *Server) hear(batch []news) []heard {
	byHost := make(map[string]*raftfsm.ReportTasks)
	for _, n := range batch {
		if byHost[n.Host] == nil {
			byHost[n.Host] = &raftfsm.ReportTasks{HostID: n.Host}
		}
		byHost[n.Host].Reports = append(byHost[n.Host].Reports, n.Reports...)
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
			answers[host] = heard{ids, faultOf(err)}
		})
	}
	entries.Wait()
	all := make([]heard, len(batch))
	for i, n := range batch {
		all[i] = heard{n.among(answers[n.Host].Unknown), answers[n.Host].Fault}
	}
	return all
}

// among keeps the ids that this call reported.
func (n news) among(ids []string) []string {
	var mine []string
	for _, id := range ids {
		if slices.ContainsFunc(n.Reports, func(r spec.TaskReport) bool { return r.TaskID == id }) {
			mine = append(mine, id)
		}
	}
	return mine
}

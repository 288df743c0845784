package server

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// registrationReply is the answer to a host that joined: what it should not run, and the index of the state that knows it.
type registrationReply struct {
	Unknown []string `json:"unknown,omitempty"`
	Index   uint64   `json:"index"`
}

// registration is a host that wants to be known.
type registration struct {
	Host    spec.Host         `json:"host"`
	Running []spec.TaskReport `json:"running,omitempty"`
}

// Join records the host as it describes itself and what it runs, and returns the ids of tasks that it should not run. A
// cluster that nobody has created yet, or that was deleted, is created by the first host that names it. A server that does not lead has the
// leader do it, and answers when its own state has caught up with that.
func (s *Server) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	if err := s.acquire(); err != nil {
		return nil, err
	}
	defer s.drain.release()
	var answer registrationReply
	err := s.callLeader(ctx, func(t *leaderTerm) (err error) {
		answer, err = s.register(ctx, t, registration{host, running})
		return err
	}, func(ctx context.Context, address string) error {
		return s.cfg.peers.Call(ctx, address, pathRegister, registration{host, running}, &answer)
	})
	if err == nil {
		err = s.waitForIndex(ctx, answer.Index)
	}
	return answer.Unknown, err
}

// register is Join on the leader.
func (s *Server) register(ctx context.Context, t *leaderTerm, e registration) (registrationReply, error) {
	now := s.cfg.Now()
	if known := s.state.View().Cluster(e.Host.Cluster); known == nil || known.Status != spec.ClusterActive {
		cluster := spec.Cluster{Name: e.Host.Cluster, Status: spec.ClusterActive, CreatedAt: now}
		if _, err := s.propose(ctx, raftfsm.CreateCluster{Cluster: cluster}); err != nil {
			return registrationReply{}, err
		}
	}
	if e.Host.RegisteredAt.IsZero() {
		e.Host.RegisteredAt = now
	}
	e.Host.HealthAt = now
	if _, err := s.propose(ctx, raftfsm.PutHost{Host: e.Host}); err != nil {
		return registrationReply{}, err
	}
	unknown, err := s.reportTasks(ctx, e.Host.ID, e.Running)
	if err != nil {
		return registrationReply{}, err
	}
	s.liveness.Record(e.Host.ID)
	return registrationReply{unknown, s.state.View().Index()}, nil
}

// maxReportBatch is how many reports of hosts are recorded together at most.
const maxReportBatch = 256

// reportRequest is one call of Report, heard its answer.
type reportRequest struct {
	Host    string            `json:"host"`
	Reports []spec.TaskReport `json:"reports"`
}

type reportReply struct {
	Unknown []string       `json:"unknown,omitempty"`
	Error   *rpc.WireError `json:"fault,omitempty"`
}

// Report records the latest report of each task and returns the ids of tasks that the host should not run. Reports that
// arrive while others are being recorded go on together: one call to the leader, and there one entry for each host.
func (s *Server) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	if err := s.acquire(); err != nil {
		return nil, err
	}
	defer s.drain.release()
	return s.reportTasks(ctx, hostID, reports)
}

func (s *Server) reportTasks(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	answer, err := s.reports.Do(ctx, reportRequest{hostID, reports})
	if err != nil {
		return nil, err
	}
	return answer.Unknown, answer.Error.Err()
}

// forwardReports has the leader hear a batch of reports.
func (s *Server) forwardReports(batch []reportRequest) []reportReply {
	answers := make([]reportReply, len(batch))
	err := s.callLeader(context.Background(), func(*leaderTerm) error {
		answers = s.applyReports(batch)
		return nil
	}, func(ctx context.Context, address string) error {
		return s.cfg.peers.Call(ctx, address, pathReport, batch, &answers)
	})
	if err != nil || len(answers) != len(batch) {
		answers = make([]reportReply, len(batch))
		for i := range answers {
			answers[i].Error = rpc.ToWire(cmp.Or(err, ErrOutcomeUnknown))
		}
	}
	return answers
}

// applyReports records a batch of reports, one entry for each host, all of them at once.
func (s *Server) applyReports(batch []reportRequest) []reportReply {
	byHost := make(map[string]*raftfsm.ReportTasks)
	for _, n := range batch {
		if byHost[n.Host] == nil {
			byHost[n.Host] = &raftfsm.ReportTasks{HostID: n.Host}
		}
		byHost[n.Host].Reports = append(byHost[n.Host].Reports, n.Reports...)
	}
	var (
		commits sync.WaitGroup
		mu      sync.Mutex
		answers = make(map[string]reportReply)
	)
	for host, entry := range byHost {
		commits.Go(func() {
			unknown, err := s.propose(context.Background(), *entry)
			ids, _ := unknown.([]string)
			mu.Lock()
			defer mu.Unlock()
			answers[host] = reportReply{ids, rpc.ToWire(err)}
		})
	}
	commits.Wait()
	all := make([]reportReply, len(batch))
	for i, n := range batch {
		all[i] = reportReply{n.onlyOf(answers[n.Host].Unknown), answers[n.Host].Error}
	}
	return all
}

// onlyOf keeps the ids that this call reported.
func (n reportRequest) onlyOf(ids []string) []string {
	var mine []string
	for _, id := range ids {
		if slices.ContainsFunc(n.Reports, func(r spec.TaskReport) bool { return r.TaskID == id }) {
			mine = append(mine, id)
		}
	}
	return mine
}

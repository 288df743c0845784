package dispatch

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// maxReportBatch is how many reports of hosts are recorded together at most.
const maxReportBatch = 256

// maxSharedReports is the size of the reports of one call of Report that go to the leader together with others: maxReportBatch of them are far
// from the longest call between hosts.
const maxSharedReports = 64 << 10

// reportRequest is one call of Report, reportReply its answer.
type reportRequest struct {
	Host    string            `json:"host"`
	Reports []spec.TaskReport `json:"reports"`
}

type reportReply struct {
	Unknown []string       `json:"unknown,omitempty"`
	Error   *rpc.WireError `json:"error,omitempty"`
}

// Report records the latest report of each task and returns the ids of tasks that the host should not run. Reports that
// arrive while others are being recorded go on together: one call to the leader, and there one entry for each host.
func (b *Backend) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return b.report(ctx, hostID, reports)
}

func (b *Backend) report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	request := reportRequest{hostID, reports}
	if request.size() > maxSharedReports { // it could keep those of other hosts from the leader
		reply := b.forwardReports([]reportRequest{request})[0]
		return reply.Unknown, reply.Error.Err()
	}
	reply, err := b.reports.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	return reply.Unknown, reply.Error.Err()
}

// size is about how many bytes the request takes in a call.
func (r reportRequest) size() (bytes int) {
	for _, report := range r.Reports {
		bytes += 512 + len(report.TaskID) + len(report.StopCode) + len(report.StoppedReason)
		for _, c := range report.Containers {
			bytes += 256 + len(c.Name) + len(c.Reason) + len(c.RuntimeID) + len(c.ImageDigest) + 64*len(c.Bindings)
		}
	}
	return bytes
}

// forwardReports has the leader record a batch of reports.
func (b *Backend) forwardReports(batch []reportRequest) []reportReply {
	replies := make([]reportReply, len(batch))
	err := b.server.CallLeader(context.Background(), func() error {
		replies = b.applyReports(batch)
		return nil
	}, func(ctx context.Context, address string) error {
		return b.client.Call(ctx, address, PathReports, batch, &replies)
	})
	if err != nil || len(replies) != len(batch) {
		replies = make([]reportReply, len(batch))
		for i := range replies {
			replies[i].Error = rpc.ToWire(cmp.Or(err, spec.ErrOutcomeUnknown))
		}
	}
	return replies
}

// ReportsHandler is the leader's side of reports that another server forwards. leader is this host's backend while its
// server leads.
func ReportsHandler(leader func() (*Backend, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(_ context.Context, _ string, batch []reportRequest) ([]reportReply, error) {
		b, err := leader()
		if err != nil {
			return nil, err
		}
		return b.applyReports(batch), nil
	})
}

// applyReports records a batch of reports, one entry for each host, all of them at once.
func (b *Backend) applyReports(batch []reportRequest) []reportReply {
	byHost, view := make(map[string]*raftfsm.ReportTasks), b.server.State().View()
	for _, r := range batch {
		if byHost[r.Host] == nil {
			byHost[r.Host] = &raftfsm.ReportTasks{HostID: r.Host}
		}
		byHost[r.Host].Reports = append(byHost[r.Host].Reports, boundedReports(view, r.Host, r.Reports)...)
	}
	for host, entry := range byHost {
		if offset := b.liveness.ClockOffset(host); offset != 0 {
			entry.Reports = inLeaderTime(view.Task, entry.Reports, offset, b.server.Now())
		}
		entry.Reports = withinLife(view.Task, entry.Reports, b.server.Now())
		stampTargets(view.Task, entry.Reports, b.server.Now())
		withinRights(view.Host(host), view.Task, entry.Reports, b.server.Now())
	}
	var (
		commits sync.WaitGroup
		mu      sync.Mutex
		replies = make(map[string]reportReply)
	)
	for host, entry := range byHost {
		commits.Go(func() {
			unknown, err := b.server.Propose(context.Background(), *entry)
			failpoint.Reached(failpoint.ReportsRecorded)
			ids, _ := unknown.([]string)
			mu.Lock()
			defer mu.Unlock()
			replies[host] = reportReply{ids, rpc.ToWire(err)}
		})
	}
	commits.Wait()
	all := make([]reportReply, len(batch))
	for i, r := range batch {
		all[i] = reportReply{r.onlyOf(replies[r.Host].Unknown), replies[r.Host].Error}
	}
	return all
}

// onlyOf keeps the ids that this call reported. A host with many tasks may report all of them, and none may be known.
func (r reportRequest) onlyOf(ids []string) []string {
	if len(ids) == 0 {
		return nil
	}
	reported := make(map[string]bool, len(r.Reports))
	for _, report := range r.Reports {
		reported[report.TaskID] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !reported[id] })
}

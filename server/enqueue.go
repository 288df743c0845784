package server

import (
	"context"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

const (
	// maxEnqueueRuns is how many runs are recorded together at most.
	maxEnqueueRuns = 512
	// maxEnqueueTasks is how many tasks one entry holds, so that it stays below a megabyte; a run is never divided.
	maxEnqueueTasks = 1000
)

// enqueue records the tasks of a run as waiting. The leader's loop gives them their places, at once where there are any.
func (s *Server) enqueue(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	answer, err := s.enqueueBatches.Do(ctx, r)
	if err != nil {
		return spec.RunResult{}, err
	}
	return answer.result, answer.err
}

// enqueueRuns answers a batch of runs that wait. Nothing is planned, so nothing can be lost to another change; of runs with the
// same token apply records the first and answers the others with it.
func (s *Server) enqueueRuns(runs []spec.RunRequest) []runReply {
	answers := make([]runReply, len(runs))
	var (
		settled, open []int // answered from the view alone; in the entry
		entry         raftfsm.LaunchTasks
		tasks         int
	)
	t, err := s.requireLeader()
	if full := s.diskError(); full != nil {
		err = full
	}
	if err != nil {
		for i := range answers {
			answers[i].err = err
		}
		return answers
	}
	view, now := s.state.View(), s.cfg.Now()
	s.pendingLimit.reset(t, view)
	for i, run := range runs {
		definition, before, err := resolveRun(view, run)
		if err == nil && before == nil {
			err = s.pendingLimit.reserve(run.Cluster, run.Count)
		}
		if err != nil || before != nil {
			if answers[i].err = err; before != nil {
				answers[i].result = *before
			}
			settled = append(settled, i)
			continue
		}
		waiting := schedule.NewPendingTasks(schedule.Request{Run: run, Definition: definition, IDs: newTaskID, At: now})
		if tasks += len(waiting); len(open) > 0 && tasks > maxEnqueueTasks {
			s.proposePending(t, entry, open, answers)
			entry, open, tasks = raftfsm.LaunchTasks{}, nil, len(waiting)
		}
		entry.Runs = append(entry.Runs, newLaunch(run, schedule.Decision{Tasks: waiting}, now))
		open = append(open, i)
	}
	s.proposePending(t, entry, open, answers)
	if len(settled) > 0 && s.checkLeader(t.ctx) != nil { // the view was perhaps not the latest
		for _, i := range settled {
			answers[i] = runReply{err: ErrNotLeader}
		}
	}
	return answers
}

func (s *Server) proposePending(t *leaderTerm, entry raftfsm.LaunchTasks, runs []int, answers []runReply) {
	if len(runs) == 0 {
		return
	}
	answer, err := s.propose(t.ctx, entry)
	if err != nil {
		for _, run := range runs {
			answers[run].err = err
		}
		return
	}
	for i, result := range answer.([]raftfsm.LaunchResult) {
		answers[runs[i]] = runReply{result.Result, result.Err}
	}
}

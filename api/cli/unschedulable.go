package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// explainTimeout is how long a started task may be kept from its user by a question about it.
const explainTimeout = 2 * time.Second

// warnUnschedulable says at once, and reports, that no host of the cluster could ever run what was started and waits now. Its
// tasks are alike, so one is asked about.
func (r *runner) warnUnschedulable(ctx context.Context, tasks []client.Task, detach bool) bool {
	if !r.batchOptions.wait {
		return false // what does not wait has a place
	}
	ctx, done := context.WithTimeout(ctx, explainTimeout)
	defer done()
	var e spec.Explanation
	err := r.client.Get(ctx, "/v1/tasks/"+tasks[0].ID()+"/explain", url.Values{"brief": {"true"}}, &e)
	if err != nil || e.Queue == nil || e.Queue.Infeasible == nil {
		return false // to tell is a courtesy: never a reason to fail
	}
	lack := *e.Queue.Infeasible
	if hosts, err := r.hostNames(ctx); err == nil { // the id does as well
		lack.HostID = cmp.Or(hosts[lack.HostID], lack.HostID)
	}
	r.notef("warning: %s", unschedulableText(r.cluster, tasks, lack, detach))
	return true
}

// unschedulableText is what people are told of tasks that no host could ever run; the host of the lack is given by its name.
func unschedulableText(cluster string, tasks []client.Task, lack spec.Failure, detach bool) string {
	what, waits, stop := tasksText(tasks), "It waits", "Ctrl-C stops it"
	if detach {
		stop = fmt.Sprintf("`pinion stop %s` stops it", abbreviateID(tasks[0].ID()))
	}
	if len(tasks) > 1 {
		what, waits = "these "+what, "They wait"
		if stop = "Ctrl-C stops them"; detach {
			stop = "`pinion stop TASK...` stops them"
		}
	}
	if lack.Reason == spec.ReasonMissing {
		return fmt.Sprintf("cluster %s has no host. %s for one; %s. `sudo pinion up --cluster %s` starts a host", cluster, waits, stop, cluster)
	}
	why := lack.Detail
	if lack.HostID != "" {
		why = fmt.Sprintf("%s is nearest: %s", lack.HostID, lack.Detail)
	}
	return fmt.Sprintf("no host of cluster %s could ever run %s (%s). %s for a host that can; %s", cluster, what, why, waits, stop)
}

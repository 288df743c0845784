package run

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"pinion/api/cli/format"
	"pinion/api/client"
)

// explainTimeout bounds the delay of a started run by the check whether any host could run it.
const explainTimeout = 2 * time.Second

// warnUnschedulable warns, and reports, that no host of the cluster could ever run the pending tasks. They are alike, so
// one of them is explained.
func (l *launcher) warnUnschedulable(ctx context.Context, tasks []client.Task, detach bool) bool {
	if !l.request.batch.wait {
		return false // the tasks are placed already
	}
	ctx, done := context.WithTimeout(ctx, explainTimeout)
	defer done()
	e, err := l.inv.Client.Explain(ctx, tasks[0].ID(), true)
	if err != nil || e.Queue == nil || e.Queue.Infeasible == nil {
		return false // best effort
	}
	shortfall := *e.Queue.Infeasible
	if hosts, err := l.inv.HostNames(ctx); err == nil { // otherwise the id is shown
		shortfall.HostID = cmp.Or(hosts[shortfall.HostID], shortfall.HostID)
	}
	l.inv.Notef("warning: %s", unschedulableText(l.request.cluster, tasks, shortfall, detach))
	return true
}

// unschedulableText is the warning; the host of the shortfall is given by its name.
func unschedulableText(cluster string, tasks []client.Task, shortfall client.Refusal, detach bool) string {
	what, waits, stop := tasksText(tasks), "It waits", "Ctrl-C stops it"
	if detach {
		stop = fmt.Sprintf("`pinion stop %s` stops it", format.ID(tasks[0].ID()))
	}
	if len(tasks) > 1 {
		what, waits = "these "+what, "They wait"
		if stop = "Ctrl-C stops them"; detach {
			stop = "`pinion stop TASK...` stops them"
		}
	}
	if shortfall.Reason == client.ReasonMissing {
		return fmt.Sprintf("cluster %s has no host. %s for one; %s. `sudo pinion up --cluster %s` starts a host", cluster, waits, stop, cluster)
	}
	why := shortfall.Detail
	if shortfall.HostID != "" {
		why = fmt.Sprintf("the nearest is %s: %s", shortfall.HostID, shortfall.Detail)
	}
	return fmt.Sprintf("no host of cluster %s could ever run %s (%s). %s for a host that can; %s", cluster, what, why, waits, stop)
}

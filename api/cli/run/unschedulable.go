package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

// explainTimeout bounds the delay of a started run by the check whether any host could run it.
const explainTimeout = 2 * time.Second

// shortfall is what no host of the cluster has for the pending tasks, which are alike; nil when one could run them, or when nobody says
// so in time.
func (l *launcher) shortfall(ctx context.Context, tasks []client.Task) *client.Refusal {
	if !l.request.batch.wait {
		return nil // the tasks are placed already
	}
	ctx, done := context.WithTimeout(ctx, explainTimeout)
	defer done()
	e, err := l.inv.Client.Explain(ctx, tasks[0].ID(), true)
	if err != nil || e.Queue == nil || e.Queue.Infeasible == nil {
		return nil // best effort: the tasks wait, and pinion why explains it
	}
	shortfall := *e.Queue.Infeasible
	if hosts, err := l.inv.HostNames(ctx); err == nil { // otherwise the id is shown
		shortfall.HostID = cmp.Or(hosts[shortfall.HostID], shortfall.HostID)
	}
	return &shortfall
}

// refuseUnschedulable stops pending tasks that no host of the cluster could ever run, and returns why. With --wait-for-host they wait; the
// user is told, and warned is true.
func (l *launcher) refuseUnschedulable(ctx context.Context, tasks []client.Task, stop func([]client.Task)) (warned bool, err error) {
	shortfall := l.shortfall(ctx, tasks)
	if shortfall == nil {
		return false, nil
	}
	why := unschedulableText(l.request.cluster, *shortfall)
	if l.request.batch.waitForHost {
		l.inv.Notef("%s; waiting for one that can, `pinion stop %s` ends that", why, format.ID(tasks[0].ID()))
		return true, nil
	}
	stop(tasks)
	if shortfall.Reason == client.ReasonMissing {
		return false, exit.Errorf(exit.NotStarted, "%s", why)
	}
	if !isAmount(*shortfall) {
		return false, exit.Errorf(exit.NotStarted, "%s. Or wait for another host with --wait-for-host", why)
	}
	return false, exit.Errorf(exit.NotStarted, "%s. Ask for less, or wait for another host with --wait-for-host", why)
}

// refuseEmptyCluster refuses a run in a cluster that is not there, is not the key's or has no hosts, before anything is registered for it. With --wait-for-host the tasks wait there.
func (l *launcher) refuseEmptyCluster(ctx context.Context) error {
	if l.request.batch.waitForHost {
		return nil
	}
	var out struct {
		Clusters []struct {
			Hosts *int `json:"registeredContainerInstancesCount"`
		} `json:"clusters"`
	}
	err := l.inv.Client.Call(ctx, "DescribeClusters", map[string]any{"clusters": []string{l.request.cluster}}, &out)
	if refused, is := errors.AsType[*client.APIError](err); is && refused.Type == "AccessDeniedException" {
		return err // as RunTask would be, after the definition
	}
	switch {
	case err != nil:
		return nil // RunTask itself says what is wrong
	case len(out.Clusters) == 0:
		return &client.APIError{Type: "ClusterNotFoundException", Message: "Cluster not found."}
	case out.Clusters[0].Hosts == nil || *out.Clusters[0].Hosts > 0:
		return nil
	}
	return exit.Errorf(exit.NotStarted, "%s", noHostText(l.request.cluster))
}

// noHostText says that a cluster has no host, and how it gets one.
func noHostText(cluster string) string {
	return fmt.Sprintf("no host is in cluster %s: join a machine with a token of `pinion token --cluster %s`, or move a host: `pinion leave` there, then join with such a token; --wait-for-host queues the task until then", cluster, cluster)
}

// isAmount reports whether a host has too little of something, and not another thing than what is asked for.
func isAmount(shortfall client.Refusal) bool { return strings.HasPrefix(shortfall.Reason, "RESOURCE:") }

// unschedulableText says what no host has; the host of the shortfall is given by its name.
func unschedulableText(cluster string, shortfall client.Refusal) string {
	switch {
	case shortfall.Reason == client.ReasonMissing:
		return noHostText(cluster)
	case shortfall.HostID != "" && !isAmount(shortfall):
		return fmt.Sprintf("no host of cluster %s could ever run this: %s: %s", cluster, shortfall.HostID, format.Options(shortfall.Detail))
	case shortfall.HostID != "":
		return fmt.Sprintf("no host of cluster %s could ever run this: the largest for it is %s: %s", cluster, shortfall.HostID, format.Options(shortfall.Detail))
	}
	return fmt.Sprintf("no host of cluster %s could ever run this: %s", cluster, format.Options(shortfall.Detail))
}

// noteTakenPort tells of a port that another task has on every host that is left: a detached task would wait for it in silence.
func (l *launcher) noteTakenPort(ctx context.Context, task client.Task) {
	if !l.request.publishes || !l.request.batch.wait {
		return
	}
	ctx, done := context.WithTimeout(ctx, explainTimeout)
	defer done()
	e, err := l.inv.Client.Explain(ctx, task.ID(), false)
	if err != nil || e.Queue == nil {
		return // best effort, as above
	}
	at := slices.IndexFunc(e.Hosts, func(r client.Refusal) bool { return r.Reason == spec.ReasonPorts })
	if at < 0 {
		return
	}
	by := ""
	if len(e.Blockers) > 0 {
		by = " by task " + format.ID(e.Blockers[0].TaskID)
	}
	l.inv.Notef("%s waits: %s%s (`pinion why %s`)", format.ID(task.ID()), e.Hosts[at].Detail, by, format.ID(task.ID()))
}

package liveness

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// recordSpacing is the least time between two records of one host: one that flaps makes few entries of the log.
	recordSpacing = 10 * time.Second
	// steadyAfter is for how long a host is heard of without a pause before it is recorded as back.
	steadyAfter = 3 * time.Second
	// maxRecorded bounds the hosts of one entry; the rest come with the next one.
	maxRecorded = 1000
)

// connectionRecorder records in the state which hosts have fallen silent or are back, for those who read events. The hosts of a whole
// rack that go together share few entries: there is at most one in lossCheckInterval. It belongs to one leader term and one goroutine.
type connectionRecorder struct {
	monitor  *Monitor
	recorded time.Time            // when it proposed last
	back     map[string]time.Time // since when hosts that are recorded as silent are heard of
}

// record proposes what has changed, and returns when to look again at the latest.
func (r *connectionRecorder) record(ctx context.Context, p Proposer) (next time.Duration) {
	view, now := r.monitor.server.State().View(), r.monitor.server.Now()
	if since := now.Sub(r.recorded); since >= 0 && since < lossCheckInterval {
		return lossCheckInterval - since
	}
	record := raftfsm.RecordConnections{At: now.Round(0), Hosts: r.due(view, now)}
	if len(record.Hosts) == 0 || view.MayWrite(record) != nil { // an older server of the pool would not understand it
		return lossCheckInterval
	}
	r.recorded = now
	if _, err := p.Propose(ctx, record); err != nil {
		r.monitor.log.Warn("cannot record which hosts are silent; retrying", "hosts", len(record.Hosts), "error", err)
		return lossCheckInterval
	}
	for _, heard := range record.Hosts {
		if heard.Silent {
			r.monitor.log.Warn("host is silent: no heartbeats", "host", view.Host(heard.ID).Name, "hostId", heard.ID, "lastHeartbeat", heard.Heard)
		} else {
			r.monitor.log.Info("host is back", "host", view.Host(heard.ID).Name, "hostId", heard.ID)
		}
	}
	return lossCheckInterval
}

// due lists the hosts whose record is not what this leader hears. A lease makes no host silent, and brings none back.
func (r *connectionRecorder) due(view *raftfsm.View, now time.Time) (due []raftfsm.HostConnectivity) {
	back := map[string]time.Time{}
	for _, host := range view.Hosts("") {
		silence, heard := r.monitor.table.silence(host.ID, now), raftfsm.HostConnectivity{ID: host.ID}
		if host.Silent() {
			if now.Sub(r.monitor.table.heard(host.ID)) >= r.monitor.missedAfter() {
				continue
			}
			since, known := r.back[host.ID]
			if !known {
				since = now
			}
			if back[host.ID] = since; now.Sub(since) < steadyAfter {
				continue
			}
		} else if heard.Silent, heard.Heard = true, now.Add(-silence).Round(0); silence < r.monitor.disconnectedAfter {
			continue
		}
		if isRecordDue(host, now) && len(due) < maxRecorded {
			due = append(due, heard)
		}
	}
	r.back = back
	return due
}

// isRecordDue says whether the record of a host is old enough for another. The clock of the leader that made it may have been another.
func isRecordDue(host *spec.Host, now time.Time) bool {
	if host.Connection == nil {
		return true
	}
	since := now.Sub(host.Connection.At)
	return since < 0 || since >= recordSpacing
}

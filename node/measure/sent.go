package measure

import (
	"time"

	"pinion/node/proxy"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/traffic"
)

// targetsOf are the metrics of targets, by their ids.
func targetsOf(all []proxy.Metrics) map[string]proxy.Metrics {
	targets := map[string]proxy.Metrics{}
	for _, m := range all {
		if m.Target != "" {
			targets[m.Target] = m
		}
	}
	return targets
}

// sent is the proxy's traffic to each task in a span of time: the average number of requests in flight, which counts one that came and was
// answered between two looks, and requests a minute. Zeros are left out.
func sent(now, before map[string]proxy.Metrics, span time.Duration) (measured []metric.Task) {
	for id, m := range now {
		target, isTask := traffic.ParseTargetID(id)
		if !isTask {
			continue
		}
		add := func(name metric.Name, value float64) {
			if value > 0 {
				measured = append(measured, metric.Task{TaskID: target.Task, Group: target.Group, Name: name, Value: value})
			}
		}
		old := before[id]
		if m.Requests < old.Requests || m.Busy < old.Busy {
			old = proxy.Metrics{} // it was gone meanwhile
		}
		add(metric.InFlight, (m.Busy-old.Busy)/span.Seconds())
		add(metric.Requests, float64(m.Requests-old.Requests)/span.Minutes())
	}
	return measured
}

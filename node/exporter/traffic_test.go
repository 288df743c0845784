package exporter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

// counted stands in for a proxy that has counted this.
type counted []proxy.Metrics

func (c counted) Metrics() []proxy.Metrics { return slices.Clone(c) }

// scraped is the answer to a scrape of a proxy.
func (c counted) scraped(t *testing.T) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Traffic{Proxy: c})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// ofTask are metrics of a task's port as a target of the group g.
func ofTask(task string, port int, owner traffic.Owner) proxy.Metrics {
	return proxy.Metrics{Group: "g", Name: "front", Target: traffic.TargetID{Group: "g", Task: task, Container: "c", Port: port}.String(), Owner: owner}
}

// answers has a target answer so many requests of a class, each after 3 ms.
func answers(m proxy.Metrics, class int, n uint64) proxy.Metrics {
	m.ByClass[class], m.Requests = n, m.Requests+n
	m.Latency.Counts[2], m.Latency.Sum = m.Latency.Counts[2]+n, m.Latency.Sum+time.Duration(n)*3*time.Millisecond
	return m
}

var llm = traffic.Owner{Cluster: "default", Team: "vision", Service: "llm"}

// Each replica of a service has its requests, its errors and its times; what no replica got is the service's, so that their sums are all that clients asked for.
func TestRequestsAreOfTheReplicaThatGotThem(t *testing.T) {
	group, busy := answers(proxy.Metrics{Group: "g", Name: "front", Owner: llm}, 5, 2), answers(answers(ofTask("t1", 80, llm), 2, 7), 5, 1)
	group.Errors, group.InFlight, group.Waiting = 2, 4, 3
	busy.Errors, busy.InFlight = 2, 4 // one of them was broken off after its status
	busy.FirstByte.Counts[len(proxy.Bounds)] = 1
	text := counted{group, busy, ofTask("idle", 80, llm), {Group: "unused", Name: "unused"}}.scraped(t)
	replica, rest := `cluster="default",service="llm",target_group="front",task="t1",team="vision"`, `cluster="default",service="llm",target_group="front",team="vision"`
	for _, sample := range []string{
		`pinion_proxy_requests_total{cluster="default",code="2xx",service="llm",target_group="front",task="t1",team="vision"} 7`,
		`pinion_proxy_requests_total{cluster="default",code="5xx",service="llm",target_group="front",task="t1",team="vision"} 1`,
		`pinion_proxy_requests_total{cluster="default",code="5xx",service="llm",target_group="front",team="vision"} 2`,
		`pinion_proxy_errors_total{` + replica + `} 2`, `pinion_proxy_errors_total{` + rest + `} 2`,
		`pinion_proxy_in_flight{` + replica + `} 4`, `pinion_proxy_in_flight{` + rest + `} 0`, `pinion_proxy_waiting{` + rest + `} 3`,
		`pinion_proxy_request_seconds_bucket{` + replica + `,le="0.002"} 0`, `pinion_proxy_request_seconds_bucket{` + replica + `,le="0.005"} 8`,
		`pinion_proxy_request_seconds_bucket{` + replica + `,le="+Inf"} 8`, `pinion_proxy_request_seconds_count{` + replica + `} 8`, `pinion_proxy_request_seconds_sum{` + replica + `} 0.024`,
		`pinion_proxy_first_byte_seconds_bucket{` + replica + `,le="300"} 0`, `pinion_proxy_first_byte_seconds_count{` + replica + `} 1`,
		`pinion_proxy_omitted_series 0`,
	} {
		if !strings.Contains(text, "\n"+sample+"\n") {
			t.Errorf("no %s in\n%s", sample, text)
		}
	}
	if strings.Contains(text, "idle") || strings.Contains(text, "unused") || strings.Contains(text, `pinion_proxy_waiting{`+replica) {
		t.Error(text)
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// A group that several services have is of no cluster itself: only keys without a scope see that. Its targets are of their services.
func TestWhatIsOfNoServiceHasNoCluster(t *testing.T) {
	lab := traffic.Owner{Cluster: "lab", Service: "canary"}
	text := counted{answers(proxy.Metrics{Group: "g", Name: "front"}, 5, 1), answers(ofTask("t1", 80, llm), 2, 1), answers(ofTask("t2", 80, lab), 2, 1)}.scraped(t)
	for _, labels := range []string{`code="5xx",target_group="front"`, `cluster="lab",code="2xx",service="canary",target_group="front",task="t2"`} {
		if !strings.Contains(text, "pinion_proxy_requests_total{"+labels+"} 1\n") {
			t.Errorf("no %s in\n%s", labels, text)
		}
	}
}

// Targets that have the same labels, such as two ports of a task or addresses that are no tasks, are counted together: else Prometheus would take nothing of the host.
func TestTargetsOfTheSameLabelsAreCountedTogether(t *testing.T) {
	address := proxy.Metrics{Group: "g", Name: "front", Target: "10.0.0.1:80"}
	bare := answers(address, 0, 4) // connections of TCP
	text := counted{answers(ofTask("t1", 80, llm), 2, 1), answers(ofTask("t1", 81, llm), 2, 2), answers(address, 2, 3), bare, {Group: "g", Name: "front", InFlight: 7}}.scraped(t)
	for _, sample := range []string{
		`pinion_proxy_requests_total{cluster="default",code="2xx",service="llm",target_group="front",task="t1",team="vision"} 3`, `pinion_proxy_request_seconds_count{target_group="front"} 7`,
		`pinion_proxy_requests_total{code="2xx",target_group="front"} 3`, `pinion_proxy_requests_total{target_group="front"} 4`, `pinion_proxy_in_flight{target_group="front"} 0`,
	} {
		if !strings.Contains(text, "\n"+sample+"\n") {
			t.Errorf("no %s in\n%s", sample, text)
		}
	}
}

// However many services there are, and however long their names, a scrape fits into what a server takes of a host, the counts come before the times, and what is left
// out is told.
func TestTheMetricsOfTrafficAreBounded(t *testing.T) {
	for name, length := range map[string]int{"short names": 1, "long names": 300, "names to be escaped": -300} {
		t.Run(name, func(t *testing.T) {
			owner := traffic.Owner{Cluster: "default", Service: strings.Repeat("s", max(length, 0)) + strings.Repeat(`"`, max(-length, 0))}
			owner.Team = owner.Service
			var many counted
			for i := range maxTrafficSets + 10 {
				many = append(many, answers(ofTask(fmt.Sprintf("%032d", i), 80, owner), 2, 1))
			}
			text := many.scraped(t)
			requests, times := strings.Count(text, "\npinion_proxy_requests_total{"), strings.Count(text, "\npinion_proxy_request_seconds_count{")
			if len(text) > maxTrafficBytes || requests > maxTrafficSets || times == 0 && length == 1 || times > requests {
				t.Errorf("%d bytes, %d counts, %d histograms", len(text), requests, times)
			}
			if length == 1 && requests != maxTrafficSets {
				t.Errorf("%d counts", requests)
			}
			if strings.Contains(text, "\npinion_proxy_omitted_series 0\n") {
				t.Error("nobody is told that something is left out")
			}
		})
	}
}

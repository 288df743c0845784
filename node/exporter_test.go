package node_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"pinion/node"
	"pinion/node/exporter"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// exported is the answer to a scrape of the host; use is the usage of each running container.
func (w *simHost) exported(use exporter.UsageFunc) string {
	w.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(exporter.New(exporter.Config{
		Host: func() spec.Host { return spec.Host{ID: hostID, Name: "gpu-1", Version: "1.2.3"} },
		GPUs: w.node.GPUs.Inventory, Usage: w.node.GPUs.Usage, LastXid: w.node.GPUs.LastXid, Containers: func() []*task.Container { return node.Containers(w.node) },
		Use: use, Expires: func() time.Time { return time.Now().Add(time.Hour) }, Disk: func() (int64, int64) { return 1, 2 }, AccessLogDropped: func() uint64 { return 0 },
	}))
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			w.Fatal(err)
		}
	}
	problems, err := promlint.New(strings.NewReader(text.String())).Lint()
	for _, p := range problems {
		if !strings.HasPrefix(p.Metric, "DCGM_") && !strings.HasPrefix(p.Metric, "container_") { // whose names are those of others
			w.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if err != nil {
		w.Error(err)
	}
	return text.String()
}

// series are the samples of a metric, with their labels, as many as have all of these words.
func series(text, metric string, words ...string) (found []string) {
lines:
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, metric+"{") && !strings.HasPrefix(line, metric+" ") {
			continue
		}
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		found = append(found, strings.TrimSpace(line))
	}
	return found
}

func usesLittle(context.Context, string) (runtime.Usage, error) {
	return runtime.Usage{CPU: 90 * time.Second, Memory: 1 << 20, Processes: 3, OOMKills: 1, Disk: &runtime.BlockIO{Read: 10, Written: 20}, Interfaces: map[string]runtime.Traffic{"eth0": {ReceivedBytes: 7}}}, nil
}

// A GPU has the labels of the task that has it, and those of dcgm-exporter and of Kubernetes, by which dashboards find it. What its driver does not measure is
// missing.
func TestAHostExportsItsGPUs(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 80, 500)
		w.gpus.setUsage("GPU-1", 101, 100) // which no GPU does
		id := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("main", "GPU-0")}}, func(t *spec.Task) {
			t.Group, t.Tags = "service:llm", []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}
		})
		w.waitIdle()
		w.advance(time.Minute)
		text := w.exported(usesLittle)
		for metric, words := range map[string][]string{
			"DCGM_FI_DEV_GPU_UTIL":    {`UUID="GPU-0"`, `task="` + id + `"`, `pod="` + id + `"`, `team="vision"`, `service="llm"`, `container="main"`, `hpc_job="service:llm"`, `Hostname="gpu-1"`, "} 80"},
			"DCGM_FI_DEV_POWER_USAGE": {`UUID="GPU-1"`, "} 100"},
			"DCGM_FI_DEV_XID_ERRORS":  {`UUID="GPU-0"`, "} 0"},
			"pinion_gpu_allocated":    {`UUID="GPU-1"`, "} 0"},
			"pinion_gpu_healthy":      {`UUID="GPU-1"`, "} 1"},
		} {
			if got := series(text, metric, words...); len(got) != 1 {
				t.Errorf("%s %v: %v in\n%s", metric, words, got, text)
			}
		}
		if got := series(text, "DCGM_FI_DEV_GPU_UTIL", `UUID="GPU-1"`); len(got) != 0 {
			t.Errorf("what nobody measures: %v", got)
		}
		if got := series(text, "DCGM_FI_DEV_POWER_USAGE", `UUID="GPU-1"`, "task="); len(got) != 0 {
			t.Errorf("a GPU that nobody has: %v", got)
		}
	})
}

// A sample from before a task had its GPU is not attributed to that task, and an old one is not exported at all.
func TestASampleIsOfWhoHadTheGPU(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 80, 500)
		w.advance(6 * time.Second)
		w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		if got := series(w.exported(usesLittle), "DCGM_FI_DEV_GPU_UTIL", `UUID="GPU-0"`); len(got) != 1 || strings.Contains(got[0], "task=") {
			t.Errorf("%v", got)
		}
	})
}

// A GPU that containers share is measured as a whole, which is nobody's; each has its share.
func TestASharedGPUIsNobodysAlone(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.boot()
		w.gpus.setUsage("GPU-0", 60, 400)
		w.control.run("t1", sharing("a", "GPU-0", 250, 100))
		w.control.run("t2", sharing("b", "GPU-0", 250, 100))
		w.waitIdle()
		w.advance(time.Minute)
		text := w.exported(usesLittle)
		if got := series(text, "DCGM_FI_DEV_GPU_UTIL", `UUID="GPU-0"`); len(got) != 1 || strings.Contains(got[0], "task=") {
			t.Errorf("%v", got)
		}
		if got := series(text, "pinion_gpu_share_memory_bytes", `UUID="GPU-0"`, "task=", "} 2.62144e+08"); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}

// Containers have cAdvisor's names. One that cannot be read is counted, and holds up none of the others; scrapes within some seconds read once.
func TestAHostExportsItsContainers(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		first, second := w.control.run("t1", container("main")), w.control.run("t2", container("hangs"))
		w.waitIdle()
		text := w.exported(func(ctx context.Context, id string) (runtime.Usage, error) {
			if strings.HasPrefix(id, second) {
				<-ctx.Done()
				return runtime.Usage{}, ctx.Err()
			}
			return usesLittle(ctx, id)
		})
		for metric, value := range map[string]string{
			"container_cpu_usage_seconds_total": "90", "container_memory_working_set_bytes": "1.048576e+06", "container_oom_events_total": "1", "container_processes": "3",
			"container_fs_reads_bytes_total": "10", "container_fs_writes_bytes_total": "20", "container_network_receive_bytes_total": "7",
		} {
			if got := series(text, metric); len(got) != 1 || !strings.Contains(got[0], `task="`+first+`"`) || !strings.HasSuffix(got[0], "} "+value) {
				t.Errorf("%s: %v", metric, got)
			}
		}
		if got := series(text, "pinion_containers_unread"); len(got) != 1 || !strings.HasSuffix(got[0], " 1") {
			t.Errorf("%v", got)
		}
		if got := series(text, "pinion_container_restarts_total"); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}

// A container that has ended is not one that cannot be read, though its task runs on.
func TestAnEndedContainerIsNotExported(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"), sidecar("done"))
		w.waitIdle()
		w.machine.Exit(id(task, "done"), 0)
		w.waitIdle()
		read := 0
		text := w.exported(func(ctx context.Context, id string) (runtime.Usage, error) { read++; return usesLittle(ctx, id) })
		if got := series(text, "pinion_containers_unread"); read != 1 || !strings.HasSuffix(got[0], " 0") {
			t.Errorf("%d read, %v", read, got)
		}
	})
}

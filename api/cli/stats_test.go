package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// hostWithContainers reads its containers anew each time it is asked: in 10 s the first takes 15 s of CPU time. The second has the network of its host.
func hostWithContainers(t *testing.T) *fakeHost {
	h := newFakeHost(t)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"aa01","name":"gpu-1","tasks":2},{"id":"aa02","name":"gpu-2","tasks":0},{"id":"aa03","name":"gpu-3","tasks":1}]`)
	read := 0
	h.documents["/v1/hosts/aa01/metrics"] = func(w http.ResponseWriter) any {
		read++
		of := func(task, container string) string {
			return fmt.Sprintf(`{container="%s",family="train",team="vision",task="%s",cluster="lab"}`, container, task)
		}
		one, other := of(taskOne, "main"), of(strings.Repeat("b", 32), "main")
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, strings.Join([]string{
			"# TYPE container_cpu_usage_seconds_total counter",
			fmt.Sprintf("container_cpu_usage_seconds_total%s %d", one, 100+15*read), fmt.Sprintf("container_cpu_usage_seconds_total%s 7", other),
			"# TYPE container_memory_working_set_bytes gauge", "container_memory_working_set_bytes" + one + " 2097152", "container_memory_working_set_bytes" + other + " 1024",
			"# TYPE container_spec_memory_limit_bytes gauge", "container_spec_memory_limit_bytes" + one + " 4194304",
			"# TYPE container_network_receive_bytes_total counter",
			`container_network_receive_bytes_total{interface="eth0",` + one[1:] + " 1024", `container_network_receive_bytes_total{interface="eth1",` + one[1:] + " 1024",
			"# TYPE container_network_transmit_bytes_total counter", `container_network_transmit_bytes_total{interface="eth0",` + one[1:] + " 512",
			"# TYPE DCGM_FI_DEV_GPU_UTIL gauge", `DCGM_FI_DEV_GPU_UTIL{gpu="0",` + one[1:] + " 80", `DCGM_FI_DEV_GPU_UTIL{gpu="1",` + one[1:] + " 40", `DCGM_FI_DEV_GPU_UTIL{gpu="2"} 99`,
			"# TYPE container_last_seen gauge", fmt.Sprintf("container_last_seen%s %d", one, 1000+10*read), fmt.Sprintf("container_last_seen%s %d", other, 1000+10*read), "",
		}, "\n"))
		return nil
	}
	return h
}

// What containers use is the difference of two readings of their host. A host that does not tell is named, and the others are shown; one without tasks
// is not asked.
func TestStatsShowsWhatContainersUse(t *testing.T) {
	got := pinion(t, hostWithContainers(t), "stats", "--once", "-o", "json")
	var all []struct {
		Task, Container, Host, Team    string
		CPUPercent, ReceivedBytes      *float64
		GPUPercent, GPUMemoryBytes     *float64
		MemoryBytes, MemoryLimitBytes  *float64
		ReadBytes, SentBytes, Restarts *float64
		GPUs                           int
	}
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || len(all) != 2 {
		t.Fatalf("%v %+v", err, got)
	}
	one, other := all[0], all[1]
	if one.Task != taskOne {
		one, other = other, one
	}
	if *one.CPUPercent != 150 || *one.MemoryBytes != 2<<20 || *one.MemoryLimitBytes != 4<<20 || *one.ReceivedBytes != 2048 || *one.SentBytes != 512 || one.GPUs != 2 || *one.GPUPercent != 60 || one.Host != "gpu-1" || one.Team != "vision" {
		t.Errorf("%s", got.out)
	}
	if *other.CPUPercent != 0 || other.ReceivedBytes != nil || other.GPUPercent != nil || other.MemoryLimitBytes != nil || one.ReadBytes != nil {
		t.Errorf("what is not known: %s", got.out)
	}
	if !strings.Contains(got.err, "gpu-3") || strings.Contains(got.err, "gpu-2") {
		t.Errorf("hosts that do not tell: %s", got.err)
	}
}

// A task is named by the beginning of its id; one of which no container runs is a mistake.
func TestStatsOfATask(t *testing.T) {
	got := pinion(t, hostWithContainers(t), "stats", "--once", taskOne[:8])
	if got.code != 0 || !strings.Contains(got.out, "150%") || !strings.Contains(got.out, "2.0 MiB / 4.0 MiB") || strings.Contains(got.out, "bbbb") {
		t.Errorf("%+v", got)
	}
	if got = pinion(t, hostWithContainers(t), "stats", "--once", "cccc"); got.code == 0 || !strings.Contains(got.err, "cccc") {
		t.Errorf("%+v", got)
	}
}

// A host in the wrong hands writes nothing on a terminal.
func TestStatsOfAHostThatSendsNoMetrics(t *testing.T) {
	h := hostWithContainers(t)
	h.documents["/v1/hosts/aa01/metrics"] = func(w http.ResponseWriter) any {
		_, _ = io.WriteString(w, "container_processes{task=\"t\",container=\"\x1b[2J\"} 1\n\x1b[2J")
		return nil
	}
	if got := pinion(t, h, "stats", "--once"); strings.Contains(got.out+got.err, "\x1b") {
		t.Errorf("%q", got.out+got.err)
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// renderAt is a table as a terminal of so many columns shows it.
func renderAt(t *testing.T, columns int, shown *table.Table) string {
	t.Helper()
	var out strings.Builder
	if err := shown.Write(&out, columns); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if columns > 0 && len([]rune(strings.TrimSuffix(line, "\n"))) > columns {
			t.Errorf("wider than %d columns: %s", columns, line)
		}
	}
	return out.String()
}

// decodeList is a list of a host's documents.
func decodeList[T any](t *testing.T, document string) (list []T) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// testHosts are alike but for their ids, as hosts on one machine are, and one that has another name.
func testHosts(t *testing.T) []client.Host {
	hosts := decodeList[client.Host](t, `[`+strings.Join([]string{
		strings.Trim(hostsDocument, "[]"), strings.Trim(hostsDocument, "[]"), strings.Trim(hostsDocument, "[]")}, ",")+`]`)
	hosts[1].ID, hosts[1].Role = hostTwo, "server"
	hosts[2].ID, hosts[2].Name, hosts[2].Role, hosts[2].Status = "cccc0000000000000000000000000003", "gpu-node-0017", "agent", "DRAINING"
	hosts[2].MemoryMiB, hosts[2].CPU = 2063597, 192<<10
	return hosts
}

func TestTablesCanBeReadAtEightyColumns(t *testing.T) {
	inv := &invocation.Invocation{Output: invocation.Table, Now: func() time.Time { return testTime }}
	hosts := testHosts(t)
	gpus := decodeList[client.GPU](t, gpusDocument)
	gpus[2].HostID = hostTwo
	tasks := decodeList[client.Task](t, "["+strings.Join([]string{runningTask, failedTask}, ",")+"]")
	waiting := decodeList[client.QueueItem](t, queueDocument)
	long := waiting[1]
	long.Position, long.Group, long.WaitReason = 2, "family:run-trainer", "task "+taskOne+", which comes before it"
	for name, c := range map[string]struct {
		shown *table.Table
		want  string
	}{
		"hosts": {hostTable(inv, hosts), `
NAME              ROLE    STATUS    HEALTH  CPU     MEMORY       GPUS     TASKS
gpu-1 (aaaa0000)  leader  ACTIVE    OK      15/16   62/64 GiB    1/3 SIM  1
gpu-1 (bbbb0000)  server  ACTIVE    OK      15/16   62/64 GiB    1/3 SIM  1
gpu-node-0017     agent   DRAINING  OK      15/192  62/2015 GiB  1/3 SIM  1
`},
		"ps": {taskTable(inv, tasks[:1], hosts), `
ID            TASK       STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3  RUNNING  2     gpu-1 (aaaa0000)  3m
`},
		"ps -a": {taskTable(inv, tasks, hosts), `
ID            TASK        STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3   RUNNING  2     gpu-1 (aaaa0000)  3m
91bc00000000  run-cuda:1  STOPPED  0     gpu-1 (aaaa0000)  2h   137 OutOfMemory…
`},
		"gpus": {gpuTable(inv, gpus), `
HOST              IDX  MODEL                            HEALTH   TASK
gpu-1 (aaaa0000)  0    SIMULATED NVIDIA H100 80GB HBM3  HEALTHY  3f2a00000000
gpu-1 (aaaa0000)  1    SIMULATED NVIDIA H100 80GB HBM3  HEALTHY  3f2a00000000
gpu-1 (bbbb0000)  2    SIMULATED NVIDIA GB10            HEALTHY  -
`},
		"queue": {queueTable(inv, waiting[:1]), `
POS  ID            GROUP         REQUEST               SINCE  WAITING FOR
1    3f2a00000000  family:train  2 GPUs, 4 CPU, 2 GiB  3m     room on a host
`},
		"queue with a long group": {queueTable(inv, []client.QueueItem{waiting[0], long}), `
POS  ID            REQUEST                    SINCE  WAITING FOR
1    3f2a00000000  2 GPUs, 4 CPU, 2 GiB       3m     room on a host
2    91bc00000000  8 x (1 GPU, 1 CPU, 1 GiB)  2h     task 3f2a00000000000000000…
`},
	} {
		checkEqual(t, name, renderAt(t, 80, c.shown), strings.TrimPrefix(c.want, "\n"))
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// at is a table as a terminal of so many columns shows it.
func at(t *testing.T, columns int, shown *table) string {
	t.Helper()
	var out strings.Builder
	if err := shown.write(&out, columns); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if columns > 0 && len([]rune(strings.TrimSuffix(line, "\n"))) > columns {
			t.Errorf("wider than %d columns: %s", columns, line)
		}
	}
	return out.String()
}

// read is a list of a host's documents.
func read[T any](t *testing.T, document string) (list []T) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestColumnsGoBeforeCellsAreCut(t *testing.T) {
	shown := &table{header: []string{"ID", "TEAM", "PRIORITY", "GROUP", "WAITS FOR"}, spare: []string{"PRIORITY", "GROUP"}}
	shown.add("3f2a", "-", "50", "nightly", "another host: none could ever run it")
	shown.add("91bc", "-", "0", "train", "its turn")
	for columns, want := range map[int]string{
		0: `
ID    TEAM  PRIORITY  GROUP    WAITS FOR
3f2a  -     50        nightly  another host: none could ever run it
91bc  -     0         train    its turn
`, 80: `
ID    TEAM  PRIORITY  GROUP    WAITS FOR
3f2a  -     50        nightly  another host: none could ever run it
91bc  -     0         train    its turn
`, 46: `
ID    PRIORITY  GROUP    WAITS FOR
3f2a  50        nightly  another host: none c…
91bc  0         train    its turn
`, 33: `
ID    GROUP    WAITS FOR
3f2a  nightly  another host: non…
91bc  train    its turn
`, 30: `
ID    WAITS FOR
3f2a  another host: none coul…
91bc  its turn
`} {
		same(t, "table", at(t, columns, shown), want[1:])
	}
	if len(shown.header) != 5 || len(shown.rows[0]) != 5 {
		t.Errorf("the table itself stays whole: %+v", shown)
	}
}

// someHosts are alike but for their ids, as hosts on one machine are, and one that has another name.
func someHosts(t *testing.T) []client.Host {
	hosts := read[client.Host](t, `[`+strings.Join([]string{
		strings.Trim(hostsDocument, "[]"), strings.Trim(hostsDocument, "[]"), strings.Trim(hostsDocument, "[]")}, ",")+`]`)
	hosts[1].ID, hosts[1].Role = hostTwo, "server"
	hosts[2].ID, hosts[2].Name, hosts[2].Role, hosts[2].Status = "cccc0000000000000000000000000003", "gpu-node-0017", "agent", "DRAINING"
	hosts[2].MemoryMiB, hosts[2].CPU = 2063597, 192<<10
	return hosts
}

func TestTablesCanBeReadAtEightyColumns(t *testing.T) {
	d := &desk{output: outputTable, now: func() time.Time { return noon }}
	hosts := someHosts(t)
	gpus := read[client.GPU](t, gpusDocument)
	gpus[2].HostID = hostTwo
	tasks := read[client.Task](t, "["+strings.Join([]string{runningTask, failedTask}, ",")+"]")
	waiting := read[spec.QueueItem](t, waitingDocument)
	long := waiting[1]
	long.Position, long.Group, long.WaitReason = 2, "family:run-trainer", "task "+taskOne+", which comes before it"
	for name, c := range map[string]struct {
		shown *table
		want  string
	}{
		"hosts": {d.hostTable(hosts), `
NAME              ROLE    STATUS    HEALTH  CPU     MEMORY       GPUS     TASKS
gpu-1 (aaaa0000)  leader  ACTIVE    OK      15/16   62/64 GiB    1/3 SIM  1
gpu-1 (bbbb0000)  server  ACTIVE    OK      15/16   62/64 GiB    1/3 SIM  1
gpu-node-0017     agent   DRAINING  OK      15/192  62/2015 GiB  1/3 SIM  1
`},
		"ps": {d.taskTable(tasks[:1], namesOf(hosts)), `
ID            TASK       STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3  RUNNING  2     gpu-1 (aaaa0000)  3m
`},
		"ps -a": {d.taskTable(tasks, namesOf(hosts)), `
ID            TASK        STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3   RUNNING  2     gpu-1 (aaaa0000)  3m
91bc00000000  run-cuda:1  STOPPED  0     gpu-1 (aaaa0000)  2h   137 OutOfMemory…
`},
		"gpus": {d.gpuTable(gpus), `
HOST              IDX  MODEL                            HEALTH   TASK
gpu-1 (aaaa0000)  0    SIMULATED NVIDIA H100 80GB HBM3  HEALTHY  3f2a00000000
gpu-1 (aaaa0000)  1    SIMULATED NVIDIA H100 80GB HBM3  HEALTHY  3f2a00000000
gpu-1 (bbbb0000)  2    SIMULATED NVIDIA GB10            HEALTHY  -
`},
		"queue": {d.queueTable(waiting[:1]), `
PLACE  ID            GROUP         ASKS                  SINCE  WAITS FOR
1      3f2a00000000  family:train  2 GPUs, 4 CPU, 2 GiB  3m     room on a host
`},
		"queue with a long group": {d.queueTable([]spec.QueueItem{waiting[0], long}), `
PLACE  ID            ASKS                       SINCE  WAITS FOR
1      3f2a00000000  2 GPUs, 4 CPU, 2 GiB       3m     room on a host
2      91bc00000000  8 x (1 GPU, 1 CPU, 1 GiB)  2h     task 3f2a000000000000000…
`},
	} {
		same(t, name, at(t, 80, c.shown), strings.TrimPrefix(c.want, "\n"))
	}
}

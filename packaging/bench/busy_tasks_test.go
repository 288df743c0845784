package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"testing"

	"pinion/node/containerd/cgroup"
	"pinion/raftfsm/spec"
)

const (
	busyTasks   = 4
	busyTaskCPU = 512 // units of each, as of half a core
)

// busyLoop enters a task's cgroup, of either version, says so, and loops.
const busyLoop = `set -e
for tree in /sys/fs/cgroup /sys/fs/cgroup/cpu; do
	if [ -e "$tree$0/cgroup.procs" ]; then echo $$ >"$tree$0/cgroup.procs"; fi
done
grep -q "$0" /proc/self/cgroup
echo entered
while :; do :; done`

// runBusyTasks keeps every CPU of the machine busy until the benchmark ends, as tasks do that compute without a pause: each is a loop in the
// cgroup that a host makes for such a task.
func runBusyTasks(b *testing.B) {
	b.Helper()
	groups, err := cgroup.Detect()
	must(b, err)
	limits := cgroup.TaskLimits(&spec.TaskDefinition{Containers: []spec.ContainerDefinition{{CPU: busyTaskCPU}}})
	for n := range busyTasks {
		group := cgroup.TaskPath(fmt.Sprintf("bench-busy-%d", n))
		must(b, groups.CreateTask(group, limits))
		loop := exec.CommandContext(b.Context(), "sh", "-c", busyLoop, group)
		said, err := loop.StdoutPipe()
		must(b, err)
		must(b, loop.Start())
		b.Cleanup(func() { // the context has ended, and the loop with it
			_ = loop.Wait()
			if err := groups.Remove(group); err != nil {
				b.Error(err)
			}
		})
		if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
			b.Fatalf("the loop did not enter the cgroup %s: %v", group, err)
		}
	}
}

package many

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/packaging/testbed"
)

// TestGangsAndQueues runs gangs of eight tasks on four hosts with two GPUs each, which find one another over the network,
// and has tasks of the AWS CLI wait for GPUs.
func TestGangsAndQueues(t *testing.T) {
	host := func(rack string) []string {
		return []string{"--gpus", "sim:2xh100", "--attribute", "pinion.rack=" + rack}
	}
	p := up(t, host("a"), host("b"), host("b"), host("a"))
	p.buildAllReduce(t)
	t.Run("eight ranks add up their numbers", p.testGangFinishes)
	t.Run("the tag moves between the hosts of a gang", p.testOneDigestPerRun)
	t.Run("one rank is killed, and the leader with it, and all stop", p.testGangEndsWithOne)
	t.Run("a task fails and is run again", p.testRunAgain)
	t.Run("a task waits for an array", p.testAfterAnArray)
	t.Run("tasks wait, and the highest priority is next", p.testQueueOfAWS)
}

// buildAllReduce puts the program of the gangs into the folder that containers share.
func (p *pool) buildAllReduce(t *testing.T) {
	t.Helper()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(p.witness, "allreduce"), "./allreduce")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// runGang is `pinion run` of eight ranks on a GPU each.
func (p *pool) runGang(flags, arguments string) string {
	return fmt.Sprintf(`pinion --data-dir "$0" run --gang --count 8 --gpus 1 --memory 32m --volume %s:/w %s busybox -- /w/allreduce /w %s`, p.witness, flags, arguments)
}

// sums are the results of all ranks, which are forgotten.
func (p *pool) sums(t *testing.T) (all []string) {
	t.Helper()
	for rank := range 8 {
		name := filepath.Join(p.witness, fmt.Sprintf("sum-%d", rank))
		sum, err := os.ReadFile(name)
		if err == nil {
			must(t, os.Remove(name))
		}
		all = append(all, string(sum))
	}
	return all
}

func (p *pool) testGangFinishes(t *testing.T) {
	for _, network := range []string{"bridge", "host"} {
		if out, err := p.sh(t, p.leader(t), p.runGang("--network "+network, "")); err != nil {
			t.Fatalf("--network %s: %v\n%s", network, err, out)
		}
		if sums := strings.Join(p.sums(t), " "); sums != "36 36 36 36 36 36 36 36" {
			t.Errorf("--network %s: the sums are %s", network, sums)
		}
	}
}

func (p *pool) testGangEndsWithOne(t *testing.T) {
	leader := p.leader(t)
	h := slices.DeleteFunc(p.serverHosts(t), func(h *testbed.Host) bool { return h == leader })[0]
	out, err := p.sh(t, h, p.runGang("-d --network host", "stay"))
	must(t, err)
	ids := strings.Fields(out)
	if len(ids) != 8 {
		t.Fatalf("%q", out)
	}
	eventually(t, "all ranks have added up", func() bool {
		made, err := filepath.Glob(filepath.Join(p.witness, "sum-*"))
		return err == nil && len(made) == 8
	})
	leader = p.leader(t)
	must(t, leader.Kill(t.Context()))
	must(t, syscall.Kill(processOf(t, "RANK=3", "/w/allreduce"), syscall.SIGKILL))
	p.start(t, leader)
	for rank, id := range ids {
		is := p.wait(t, h, id, "STOPPED")
		if rank == 3 {
			if exit := is.Containers[0].ExitCode; exit == nil || *exit != 137 {
				t.Errorf("rank 3: %v", is)
			}
			continue
		}
		if want := "Rank 3 of the gang (task " + ids[3] + ") ended, and all end with it"; !strings.HasPrefix(is.Reason, want) || is.StopCode != "ServiceSchedulerInitiated" {
			t.Errorf("rank %d: %v", rank, is)
		}
	}
	p.sums(t)
}

// processOf waits for the process of a container, by a variable of its environment and its first argument: a task is RUNNING a moment before
// its program is.
func processOf(t *testing.T, variable, program string) (pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("a process %s has %s", program, variable), func() bool {
		pid = findProcess(t, variable, program)
		return pid > 0
	})
	return pid
}

// findProcess is processOf for one look; 0 when there is none.
func findProcess(t *testing.T, variable, program string) int {
	t.Helper()
	is := func(process string) bool {
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(process, "environ"))
		return strings.HasPrefix(string(line), program+"\x00") && strings.Contains("\x00"+string(environment), "\x00"+variable+"\x00")
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, process := range all {
		stat, _ := os.ReadFile(filepath.Join(process, "stat"))
		pid, parent, name, state := 0, 0, "", ""
		fmt.Sscan(string(stat), &pid, &name, &state, &parent)
		if is(process) && !is(fmt.Sprint("/proc/", parent)) { // a child looks the same until it runs its own program
			return pid
		}
	}
	return 0
}

func (p *pool) testRunAgain(t *testing.T) {
	const script = `pinion --data-dir "$0" run --retries 1 --retry-on 3 busybox -- sh -c 'echo attempt $PINION_ATTEMPT; test $PINION_ATTEMPT = 1 || exit 3'`
	if out, err := p.sh(t, p.leader(t), script); err != nil || out != "attempt 0\nattempt 1\n" {
		t.Errorf("%v: %q", err, out)
	}
}

func (p *pool) testAfterAnArray(t *testing.T) {
	mounted := "--volume " + p.witness + ":/w busybox -- "
	_, err := p.sh(t, p.leader(t), `pinion --data-dir "$0" run -d --array 3-5 --group nightly `+mounted+`sh -c 'usleep 500000; echo > /w/index-$PINION_ARRAY_INDEX'`)
	must(t, err)
	out, err := p.sh(t, p.leader(t), `pinion --data-dir "$0" run --after group:nightly `+mounted+`sh -c 'ls -d /w/index-*'`)
	if want := "/w/index-3\n/w/index-4\n/w/index-5\n"; err != nil || out != want {
		t.Errorf("%v: %q", err, out)
	}
	if _, err := p.sh(t, p.leader(t), `pinion --data-dir "$0" run --after group:nowhere busybox`); err == nil || !strings.Contains(err.Error(), "of which cluster default has no task") {
		t.Errorf("a group that is not there: %v", err)
	}
}

// testQueueOfAWS fills all GPUs, and has the AWS CLI run more.
func (p *pool) testQueueOfAWS(t *testing.T) {
	h := p.leader(t)
	p.define(t, "holder", 2, `while :; do usleep 100000; done`)
	p.define(t, "waiter", 2, `while :; do usleep 100000; done`)
	holders := aws[tasks](t, p, h, `aws ecs run-task --task-definition holder --count 4`).Tasks
	if len(holders) != 4 {
		t.Fatalf("%v", holders)
	}
	enqueue := func(priority string) task {
		answer := aws[tasks](t, p, h, `aws ecs run-task --task-definition waiter --capacity-provider-strategy capacityProvider=PINION --tags key=pinion.priority,value=`+priority)
		if len(answer.Tasks) != 1 || answer.Tasks[0].LastStatus != "PROVISIONING" || answer.Tasks[0].Instance != "" {
			t.Fatalf("%v", answer)
		}
		return answer.Tasks[0]
	}
	low, high := enqueue("1"), enqueue("90")
	why, err := p.sh(t, h, `pinion --data-dir "$0" why `+low.id())
	must(t, err)
	t.Logf("pinion why:\n%s", why)
	for _, says := range []string{"PROVISIONING", "RESOURCE:GPU"} {
		if !strings.Contains(why, says) {
			t.Errorf("pinion why does not say %s:\n%s", says, why)
		}
	}
	aws[object](t, p, h, `aws ecs stop-task --task `+holders[0].id())
	p.wait(t, h, high.id(), "RUNNING")
	if is := p.describe(t, h, low.id()); is.LastStatus != "PROVISIONING" {
		t.Errorf("the lower priority has a place, too: %v", is)
	}
	aws[object](t, p, h, `aws ecs stop-task --task `+holders[1].id())
	p.wait(t, h, low.id(), "RUNNING")
	p.stopTasks(t, "default", append(holders, low, high)...)
}

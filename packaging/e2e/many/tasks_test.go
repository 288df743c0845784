package many

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pinion/packaging/testbed"
)

// define registers a family whose one container runs a shell script in busybox on n GPUs, with the witness folder of
// the pool as /w.
func (p *pool) define(t testing.TB, family string, gpus int, script string) {
	t.Helper()
	container := object{
		"name": "main", "image": "busybox", "memory": 16, "command": []string{"sh", "-c", script}, "stopTimeout": 2,
		"mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}},
	}
	if gpus > 0 {
		container["resourceRequirements"] = []object{{"type": "GPU", "value": strconv.Itoa(gpus)}}
	}
	p.mustCall(t, p.Hosts()[0], "RegisterTaskDefinition", object{
		"family": family, "networkMode": "none", "containerDefinitions": []object{container},
		"volumes": []object{{"name": "w", "host": object{"sourcePath": p.witness}}},
	}, &object{})
}

// onceScript makes a container prove that it is the only one of its name ever: a directory can be made once. $ME is its name.
const onceScript = `mkdir /w/ran-$ME || { date > /w/twice-$ME; exit 65; }; `

// witnessedScript holds a lock for every GPU that the container was given, which nobody else may hold at that moment, on
// whatever host.
const witnessedScript = onceScript + `gpus=$(echo $NVIDIA_VISIBLE_DEVICES | tr , ' '); for g in $gpus; do mkdir /w/gpu-$g || { touch /w/overlap-$g-$ME; exit 66; }; done; usleep 50000; for g in $gpus; do rmdir /w/gpu-$g; done`

// tickingScript adds a line to a file of its own every 100 ms, until there is a file /w/end: then it exits with code 7.
const tickingScript = onceScript + `while [ ! -e /w/end ]; do echo >> /w/ticks-$ME; usleep 500000; done; exit 7`

// namedRunTask is a RunTask that can be repeated: the name is its client token, and what its container is called.
func namedRunTask(family, name string) object {
	return object{
		"taskDefinition": family, "clientToken": name, "startedBy": name,
		"overrides": object{"containerOverrides": []object{{"name": "main", "environment": []object{{"name": "ME", "value": name}}}}},
	}
}

// run starts one named task through a host, and asks again while it is refused for want of a host.
func (p *pool) run(t testing.TB, h *testbed.Host, family, name string) task {
	t.Helper()
	var answer tasks
	eventually(t, "RunTask "+family+" through "+h.Name, func() bool {
		answer = tasks{}
		p.mustCall(t, h, "RunTask", namedRunTask(family, name), &answer)
		return len(answer.Tasks) == 1
	})
	return answer.Tasks[0]
}

func (p *pool) describe(t testing.TB, h *testbed.Host, id string) task {
	t.Helper()
	var answer tasks
	p.mustCall(t, h, "DescribeTasks", object{"tasks": []string{id}}, &answer)
	if len(answer.Tasks) != 1 {
		t.Fatalf("task %s on %s: %v", id, h.Name, answer)
	}
	return answer.Tasks[0]
}

// list answers the ARNs on all pages of a listing of tasks or task definitions.
func (p *pool) list(t testing.TB, h *testbed.Host, operation string, in object) (all []string) {
	t.Helper()
	for {
		var page struct {
			Tasks       []string `json:"taskArns"`
			Definitions []string `json:"taskDefinitionArns"`
			Next        string   `json:"nextToken"`
		}
		p.mustCall(t, h, operation, in, &page)
		all = slices.Concat(all, page.Tasks, page.Definitions)
		if page.Next == "" {
			return all
		}
		in["nextToken"] = page.Next
	}
}

// describeAll describes any number of tasks.
func (p *pool) describeAll(t testing.TB, h *testbed.Host, arns []string) (all []task) {
	t.Helper()
	for some := range slices.Chunk(arns, 100) {
		var answer tasks
		p.mustCall(t, h, "DescribeTasks", object{"tasks": some}, &answer)
		if len(answer.Tasks) != len(some) {
			t.Errorf("of %d listed tasks %d are there: %v", len(some), len(answer.Tasks), answer.Failures)
		}
		all = append(all, answer.Tasks...)
	}
	return all
}

// wait asks until the task has the status.
func (p *pool) wait(t testing.TB, h *testbed.Host, id, status string) task {
	t.Helper()
	var is task
	eventually(t, "task "+id+" is "+status, func() bool {
		is = p.describe(t, h, id)
		if is.LastStatus == "STOPPED" && status != "STOPPED" {
			t.Fatalf("task %s is not %s but stopped: %v", id, status, is)
		}
		return is.LastStatus == status
	})
	return is
}

// tickCount counts the lines that a ticking task has written: they need no pinion to be seen.
func (p *pool) tickCount(name string) int {
	raw, _ := os.ReadFile(filepath.Join(p.witness, "ticks-"+name))
	return len(raw)
}

// startTicking starts n ticking tasks and answers them as they are when they run, by name.
func (p *pool) startTicking(t testing.TB, n int, prefix string) map[string]task {
	t.Helper()
	p.define(t, "ticking", 1, tickingScript)
	p.define(t, "witnessed", 1, witnessedScript)
	running := map[string]task{}
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		running[name] = p.run(t, p.Hosts()[i%len(p.Hosts())], "ticking", name)
	}
	for name, was := range running {
		running[name] = p.wait(t, p.Hosts()[0], was.id(), "RUNNING")
	}
	return running
}

// checkUndisturbed checks that every task is the very container that it was, and goes on.
func (p *pool) checkUndisturbed(t testing.TB, before map[string]task) {
	t.Helper()
	for name, was := range before {
		is := p.wait(t, p.Hosts()[0], was.id(), "RUNNING")
		if is.Containers[0].RuntimeID != was.Containers[0].RuntimeID || is.StartedAt != was.StartedAt || is.Instance != was.Instance {
			t.Errorf("task %s was %v, is %v", name, was, is)
		}
		written := p.tickCount(name)
		eventually(t, "task "+name+" goes on", func() bool { return p.tickCount(name) > written })
	}
	p.checkNoOverlap(t)
}

// endTicking lets the ticking tasks end and checks that all their exit codes are known.
func (p *pool) endTicking(t testing.TB, running map[string]task) {
	t.Helper()
	end := filepath.Join(p.witness, "end")
	must(t, os.WriteFile(end, nil, 0o600))
	defer os.Remove(end)
	p.checkExit(t, running, 7)
}

func (p *pool) checkExit(t testing.TB, running map[string]task, code int) {
	t.Helper()
	for name, was := range running {
		is := p.wait(t, p.Hosts()[0], was.id(), "STOPPED")
		if exit := is.Containers[0].ExitCode; exit == nil || *exit != code {
			t.Errorf("task %s: %v, want exit code %d", name, is, code)
		}
	}
}

// checkRunCount checks that so many containers whose names begin so have run. Its traces are forgotten.
func (p *pool) checkRunCount(t testing.TB, prefix string, n int) {
	t.Helper()
	ran, err := filepath.Glob(filepath.Join(p.witness, "ran-"+prefix+"-*"))
	must(t, err)
	if len(ran) != n {
		t.Errorf("%d tasks %s were accepted, and %d ran", n, prefix, len(ran))
	}
	for _, trace := range ran {
		must(t, os.Remove(trace))
	}
}

// checkNoOverlap checks that no container met another on its GPU, or ran twice.
func (p *pool) checkNoOverlap(t testing.TB) {
	t.Helper()
	for _, pattern := range []string{"overlap-*", "twice-*"} {
		if found, _ := filepath.Glob(filepath.Join(p.witness, pattern)); len(found) > 0 {
			t.Errorf("witnessed: %v", found)
		}
	}
}

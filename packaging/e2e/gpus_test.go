package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// probeScript prints what a container sees of GPUs, and which of all eight it may open by nodes of its own making, and stays.
const probeScript = `echo "visible=$NVIDIA_VISIBLE_DEVICES"; for d in /dev/nvidia[0-9]*; do [ -e "$d" ] && echo "node=$d" && major=$((0x$(stat -c %t $d))); done; for m in 0 1 2 3 4 5 6 7; do mknod /tmp/forged$m c $major $m; cat /tmp/forged$m 2>&1 | grep -q 'not permitted' || echo "opens=/dev/nvidia$m"; done; nvidia-smi -L 2>/dev/null; echo end; exec sleep 1000`

func TestEachTaskSeesExactlyItsOwnGPUs(t *testing.T) {
	h := sharedHost(t)
	var ids []string
	nodes := map[string]string{}
	for _, n := range []int{1, 2, 4} {
		h.registerShell(t, fmt.Sprintf("look-%d", n), n, probeScript)
		id := h.runTask(t, fmt.Sprintf("look-%d", n))
		ids = append(ids, id)
		log := h.waitLog(t, id, "end")
		wantGPUs := asStrings(h.describe(t, id).list("containers", 0, "gpuIds"))
		if got := valuesAfter(log, "visible="); len(got) != 1 || !sameSet(strings.Split(got[0], ","), wantGPUs) {
			t.Errorf("task of %d GPUs has NVIDIA_VISIBLE_DEVICES %v, was given %v", n, got, wantGPUs)
		}
		seen := valuesAfter(log, "node=")
		if len(seen) != n || len(wantGPUs) != n {
			t.Errorf("task of %d GPUs sees nodes %v, was given %v", n, seen, wantGPUs)
		}
		if opens := valuesAfter(log, "opens="); !slices.Equal(opens, seen) {
			t.Errorf("task of %d GPUs sees %v and may open %v", n, seen, opens)
		}
		for _, node := range seen {
			if other := nodes[node]; other != "" {
				t.Errorf("%s is in task %s and in task %s", node, other, id)
			}
			nodes[node] = id
		}
		for _, uuid := range wantGPUs {
			if !strings.Contains(log, uuid) {
				t.Errorf("nvidia-smi -L inside does not show %s:\n%s", uuid, log)
			}
		}
	}

	h.registerShell(t, "two-more", 2, probeScript)
	refused := h.mustCall(t, "RunTask", object{"taskDefinition": "two-more"})
	if refused.text("failures", 0, "reason") != "RESOURCE:GPU" {
		t.Errorf("nine GPUs of eight: %v", refused)
	}
	h.stop(t, ids[0])
	ids[0] = h.runTask(t, "two-more")
	h.waitLog(t, ids[0], "end")
	h.stop(t, ids...)
}

// TestTwoHundredLaunchesNeverShareAGPU witnesses from inside: each container makes a directory for every GPU it sees,
// in a folder they all share; mkdir fails when another container is still in it.
func TestTwoHundredLaunchesNeverShareAGPU(t *testing.T) {
	h := sharedHost(t)
	witness := h.witness(t)
	volume := object{"volumes": []object{{"name": "w", "host": object{"sourcePath": witness}}}, "mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}}}
	const script = `for d in /dev/nvidia[0-9]*; do mkdir /w/${d##*/} || { echo overlap on $d; touch /w/overlap-$$-${d##*/}; exit 66; }; done; touch /w/../w/ran-$HOSTNAME; usleep $((RANDOM*3)); for d in /dev/nvidia[0-9]*; do rmdir /w/${d##*/}; done`
	sizes := []int{1, 2, 3, 4, 8}
	for _, n := range sizes {
		h.registerShell(t, fmt.Sprintf("witness-%d", n), n, script, volume)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var ids []string
	for len(ids) < 200 {
		family := fmt.Sprintf("witness-%d", sizes[random.IntN(len(sizes))])
		eventually(t, family+" fits", func() bool {
			a := h.mustCall(t, "RunTask", object{"taskDefinition": family})
			if len(a.list("tasks")) == 0 {
				return false
			}
			ids = append(ids, taskID(a))
			return true
		})
	}
	for _, id := range ids {
		task := h.waitStopped(t, id)
		if task.at("containers", 0, "exitCode") != 0.0 {
			t.Errorf("task %s: %v\n%s", id, task, h.log(t, id))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(witness, "overlap-*")); len(left) > 0 {
		t.Errorf("overlaps: %v", left)
	}
}

func TestAContainerWithoutARequirementSeesNoGPU(t *testing.T) {
	h := sharedHost(t)
	for name, more := range map[string]object{
		"plain":              {},
		"image asks for all": {"image": "greedy/all:1"},
		"definition asks":    {"environment": []object{{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute"}}},
	} {
		t.Run(name, func(t *testing.T) {
			h.registerShell(t, "no-gpu", 0, `ls /dev; echo "visible=$NVIDIA_VISIBLE_DEVICES"; echo "caps=$NVIDIA_DRIVER_CAPABILITIES"; mknod /tmp/n c 240 0; echo "forged=$(cat /tmp/n 2>&1)"; echo end`, more)
			id := h.runTask(t, "no-gpu")
			h.waitStopped(t, id)
			log := h.log(t, id)
			if strings.Contains(log, "nvidia") || !slices.Equal(valuesAfter(log, "visible="), []string{"void"}) {
				t.Errorf("log:\n%s", log)
			}
			if forged := valuesAfter(log, "forged="); len(forged) != 1 || !strings.Contains(forged[0], "not permitted") {
				t.Errorf("a device node of its own making answers %q", forged)
			}
			if name == "definition asks" && !slices.Equal(valuesAfter(log, "caps="), []string{"compute"}) {
				t.Errorf("other NVIDIA_ variables must be left alone:\n%s", log)
			}
		})
	}
}

func TestPrivilegedIsRefusedOnAHostWithGPUs(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "privileged", 0, "true", object{"privileged": true})
	a := h.mustCall(t, "RunTask", object{"taskDefinition": "privileged"})
	if len(a.list("tasks")) != 0 || !strings.Contains(fmt.Sprint(a.at("failures", 0)), "privileged") {
		t.Errorf("got %v", a)
	}
}

// valuesAfter collects what follows the prefix on the lines that begin with it.
func valuesAfter(log, prefix string) []string {
	var found []string
	for line := range strings.Lines(log) {
		if rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), prefix); ok {
			found = append(found, rest)
		}
	}
	return found
}

func asStrings(list []any) []string {
	var all []string
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mounting is a definition's members for a mount of a host's path at /v.
func mounting(sourcePath string, readOnly bool) object {
	return object{
		"volumes":     []object{{"name": "v", "host": object{"sourcePath": sourcePath}}},
		"mountPoints": []object{{"sourceVolume": "v", "containerPath": "/v", "readOnly": readOnly}},
	}
}

// Not even root through the socket mounts what the operator did not name, and the refusal names the flag to add.
func TestATaskReachesOnlyWhatItsHostGives(t *testing.T) {
	h := sharedHost(t)
	added := func(name string) object {
		return object{"linuxParameters": object{"capabilities": object{"add": []string{name}}}}
	}
	for name, c := range map[string]struct {
		more object
		want string
	}{
		"the-host":     {mounting("/", true), "pinion up --volume /"},
		"the-data":     {mounting(h.dir, true), "pinion up --volume " + h.dir},
		"the-socket":   {mounting(h.dir+"/containerd", false), "pinion up --volume"},
		"etc":          {mounting("/etc", false), "pinion up --volume /etc"},
		"out":          {mounting(h.volume+"/../..", false), "pinion up --volume"},
		"unknown-name": {mounting("models/llama", true), "pinion up --volume models=DIR"},
		"pid":          {object{"pidMode": "host"}, "pinion up --allow host-pid"},
		"ipc":          {object{"ipcMode": "host"}, "pinion up --allow host-ipc"},
		"net-admin":    {added("NET_ADMIN"), "pinion up --allow NET_ADMIN"},
		"sys-time":     {added("SYS_TIME"), "pinion up --allow SYS_TIME"},
		"sys-admin":    {added("SYS_ADMIN"), "could reach every GPU"},
	} {
		h.registerShell(t, "reach-"+name, 0, "true", c.more)
		a := h.mustCall(t, "RunTask", object{"taskDefinition": "reach-" + name})
		if failures := fmt.Sprint(a["failures"]); len(a.list("tasks")) != 0 || !strings.Contains(failures, "ATTRIBUTE") || !strings.Contains(failures, c.want) {
			t.Errorf("%s: %v, want %s", name, a, c.want)
		}
	}
}

// Definitions with host paths that were registered before hosts named what they give stay as they are: the refusal has the option that a start
// needs for them to run.
func TestADefinitionWithAHostPathRunsWithTheFlagThatItsRefusalNames(t *testing.T) {
	h, data := newHost(t, "--gpus", "none"), t.TempDir()
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	container := object{"name": "main", "image": "pinion/self", "memory": 64, "command": []string{"pinion", "pause"}, "mountPoints": []object{{"sourceVolume": "v", "containerPath": "/v"}}}
	h.mustCall(t, "RegisterTaskDefinition", object{"family": "old", "networkMode": "none", "volumes": mounting(data, false)["volumes"], "containerDefinitions": []object{container}})
	refused := fmt.Sprint(h.mustCall(t, "RunTask", object{"taskDefinition": "old"})["failures"])
	_, flag, _ := strings.Cut(refused, "pinion up ")
	words := strings.Fields(flag)
	if len(words) < 2 || words[0] != "--volume" || strings.TrimRight(words[1], ".,;`)]") != data {
		t.Fatalf("the refusal names %q: %s", words, refused)
	}
	h.signalAndWait(t, syscall.SIGTERM)
	h.flags = append(h.flags, words[0], data)
	h.start(t)
	h.waitStatus(t, h.runTask(t, "old"), "RUNNING")
}

// One task leaves links in its volume that lead out of it; the next one mounts them, and gets nothing.
func TestALinkInAVolumeLeadsNowhere(t *testing.T) {
	h := sharedHost(t)
	witness := h.witness(t)
	h.registerShell(t, "link", 0, "ln -s / /v/root; ln -s /etc /v/etc; ln -s ../../.. /v/up; mkdir /v/inner; ln -s inner /v/inside", mounting(witness, false))
	h.waitStopped(t, h.runTask(t, "link"))
	for _, name := range []string{"root", "etc", "up", "root/etc"} {
		h.registerShell(t, "follow", 0, "ls /v; touch /v/made", mounting(filepath.Join(witness, name), false))
		task := h.waitStopped(t, h.runTask(t, "follow"))
		if reason := fmt.Sprint(task["stoppedReason"]); !strings.HasPrefix(reason, "InvalidVolumeError: volume v: "+witness+"/"+name) || !strings.Contains(reason, "leads out of") {
			t.Errorf("%s: %s", name, reason)
		}
	}
	if _, err := os.Stat("/made"); err == nil {
		t.Error("a task wrote to the host")
	}
	h.registerShell(t, "follow", 0, "touch /v/made", mounting(filepath.Join(witness, "inside"), false))
	h.waitStopped(t, h.runTask(t, "follow"))
	if _, err := os.Stat(filepath.Join(witness, "inner", "made")); err != nil {
		t.Errorf("a link that stays inside: %v", err)
	}
}

// A shared volume is made by the first task that may make it, and stays for the next one, which may not, until it is removed, which is not while a task has
// it. One of scope task goes with its task.
func TestASharedVolumeStaysForTheNextTask(t *testing.T) {
	h := sharedHost(t)
	docker := func(configuration object) object {
		more := mounting("", false)
		more["volumes"] = []object{{"name": "e2e-shared", "dockerVolumeConfiguration": configuration}}
		more["mountPoints"] = []object{{"sourceVolume": "e2e-shared", "containerPath": "/v"}}
		return more
	}
	h.registerShell(t, "volume-needs", 0, "test -e /v/made", docker(object{"scope": "shared", "driver": "local"}))
	if failures := fmt.Sprint(h.mustCall(t, "RunTask", object{"taskDefinition": "volume-needs"})["failures"]); !strings.Contains(failures, "autoprovision") {
		t.Errorf("a volume that nobody has made: %s", failures)
	}
	h.registerShell(t, "volume-makes", 0, "touch /v/made", docker(object{"scope": "shared", "autoprovision": true, "labels": object{"team": "vision"}}))
	ends := func(family string) {
		t.Helper()
		if task := h.waitStopped(t, h.runTask(t, family)); task.at("containers", 0, "exitCode") != 0.0 {
			t.Errorf("%s: %v", family, task)
		}
	}
	ends("volume-makes")
	ends("volume-needs")
	h.registerShell(t, "volume-task", 0, "test ! -e /v/made && touch /v/made", docker(object{"scope": "task"}))
	for range 2 {
		ends("volume-task")
	}
	h.registerShell(t, "volume-keeps", 0, "sleep 1000", docker(object{"scope": "shared"}))
	id := h.runTask(t, "volume-keeps")
	h.waitStatus(t, id, "RUNNING")
	if _, err := h.tryPinion("volume", "rm", "e2e-shared"); !strings.Contains(fmt.Sprint(err), id) {
		t.Errorf("while a task has it: %v", err)
	}
	h.stop(t, id)
	h.waitStopped(t, id)
	h.pinion(t, "volume", "rm", "e2e-shared")
	eventually(t, "the pool knows it no more", func() bool { return !strings.Contains(h.pinion(t, "volume", "ls", "-q"), "e2e-shared") })
}

// A volume of the name local needs no flag, and stays for the next task.
func TestLocalVolumesNeedNoFlag(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "cache", 0, "cat /v/file 2>/dev/null; echo kept > /v/file", mounting("local/cache", false))
	h.waitStopped(t, h.runTask(t, "cache"))
	id := h.runTask(t, "cache")
	h.waitStopped(t, id)
	if log := h.log(t, id); log != "kept\n" {
		t.Errorf("the second task read %q", log)
	}
}

func TestUpRefusesToGiveTheHostAway(t *testing.T) {
	for _, path := range []string{"/", "/etc", "/run", "/proc", "/sys/fs/cgroup", "/dev"} {
		h := newHost(t, "--gpus", "none", "--volume", path)
		if err := h.tryStart(); err == nil || !strings.Contains(h.output.String(), "--volume "+path) || !strings.Contains(h.output.String(), "never given to tasks") {
			t.Errorf("%s: %v\n%s", path, err, h.output)
		}
		if _, err := os.Stat(filepath.Join(h.dir, "containerd")); err == nil {
			t.Errorf("%s: a container runtime was begun", path)
		}
		h.down(t)
	}
}

// A task that ignores SIGTERM keeps its stop timeout, until somebody forces it.
func TestAStopCanBeForced(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "stubborn", 1, "trap '' TERM; echo up; while :; do usleep 100000; done", object{"stopTimeout": 600})
	id := h.runTask(t, "stubborn")
	h.waitLog(t, id, "up")
	h.pinion(t, "stop", "--no-wait", id)
	h.waitStatus(t, id, "STOPPING")
	h.pinion(t, "stop", "--force", id)
	if task := h.describe(t, id); task["lastStatus"] != "STOPPED" {
		t.Errorf("it is %v", task["lastStatus"])
	}
}

package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// newDuplicateNameHosts is a door of two hosts with the same name, as several on one machine have.
func newDuplicateNameHosts(t *testing.T) *fakeHost {
	h := newFakeHost(t).withTasks(runningTask)
	other := strings.ReplaceAll(hostsDocument, hostOne, hostTwo)
	h.documents["/v1/hosts"] = serveDocument("[" + strings.Trim(hostsDocument, "[]") + "," + strings.Trim(other, "[]") + "]")
	gpu := strings.Split(strings.Trim(gpusDocument, "[]"), "\n")[3]
	h.documents["/v1/gpus"] = serveDocument("[" + gpu + "," + strings.ReplaceAll(gpu, hostOne, hostTwo) + "]")
	return h
}

func TestHostsOfTheSameNameAreToldApartInEveryList(t *testing.T) {
	h := newDuplicateNameHosts(t)
	for _, list := range []string{"hosts", "gpus", "hosts -o wide", "gpus -o wide"} {
		got := pinion(t, h, strings.Fields(list)...).out
		if !strings.Contains(got, "\ngpu-1 (aaaa0000)  ") || !strings.Contains(got, "\ngpu-1 (bbbb0000)  ") {
			t.Errorf("pinion %s:\n%s", list, got)
		}
	}
	checkEqual(t, "pinion ps", pinion(t, h, "ps").out, `
ID            TASK       STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3  RUNNING  2     gpu-1 (aaaa0000)  3m
`[1:])
}

func TestANameThatSeveralHostsHaveIsNoNameForACommand(t *testing.T) {
	h := newDuplicateNameHosts(t)
	h.operations["UpdateContainerInstancesState"] = always(`{"containerInstances":[],"failures":[]}`)
	got := pinion(t, h, "activate", "gpu-1")
	checkEqual(t, "by the name", got.err, `pinion: 2 hosts have the name "gpu-1" (`+hostOne+", "+hostTwo+"); give the id of one, or the beginning of it\n")
	if got := pinion(t, h, "activate", "bbbb0000"); got.code != 0 || !strings.Contains(h.bodies["UpdateContainerInstancesState"], hostTwo) {
		t.Errorf("by the digits that lists show: %+v", got)
	}
}

func TestTheGPUsOfHostsWithTheSameNameAreNotAddedUp(t *testing.T) {
	gpus := []client.GPU{{Host: "box", HostID: hostOne, Health: "HEALTHY"}, {Host: "box", HostID: hostTwo, Health: "HEALTHY"}}
	failures := []client.Failure{{ARN: hostOne, Reason: spec.ReasonGPU}, {ARN: hostTwo, Reason: spec.ReasonGPU}}
	checkEqual(t, "shortage", gpuShortage(2, failures, gpus), "RESOURCE:GPU: no host has 2 GPUs free: box (aaaa0000) has 1 of 1 free, box (bbbb0000) has 1 of 1 free. "+
		"A task runs on one host, and none has more than 1: ask for fewer")
}

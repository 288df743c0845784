package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// namesakes is a door of two hosts with the same name, as several on one machine have.
func namesakes(t *testing.T) *door {
	d := openDoor(t).withTasks(runningTask)
	other := strings.ReplaceAll(hostsDocument, hostOne, hostTwo)
	d.documents["/v1/hosts"] = page("[" + strings.Trim(hostsDocument, "[]") + "," + strings.Trim(other, "[]") + "]")
	gpu := strings.Split(strings.Trim(gpusDocument, "[]"), "\n")[3]
	d.documents["/v1/gpus"] = page("[" + gpu + "," + strings.ReplaceAll(gpu, hostOne, hostTwo) + "]")
	return d
}

func TestHostsOfTheSameNameAreToldApartInEveryList(t *testing.T) {
	d := namesakes(t)
	for _, list := range []string{"hosts", "gpus", "hosts -o wide", "gpus -o wide"} {
		got := pinion(t, d, strings.Fields(list)...).out
		if !strings.Contains(got, "\ngpu-1 (aaaa0000)  ") || !strings.Contains(got, "\ngpu-1 (bbbb0000)  ") {
			t.Errorf("pinion %s:\n%s", list, got)
		}
	}
	same(t, "pinion ps", pinion(t, d, "ps").out, `
ID            TASK       STATUS   GPUS  HOST              AGE  EXIT/REASON
3f2a00000000  trainer:3  RUNNING  2     gpu-1 (aaaa0000)  3m
`[1:])
}

func TestANameThatSeveralHostsHaveIsNoNameForACommand(t *testing.T) {
	d := namesakes(t)
	d.operations["UpdateContainerInstancesState"] = always(`{"containerInstances":[],"failures":[]}`)
	got := pinion(t, d, "activate", "gpu-1")
	same(t, "by the name", got.err, `pinion: 2 hosts have the name "gpu-1" (`+hostOne+", "+hostTwo+"); give the id of one, or the beginning of it\n")
	if got := pinion(t, d, "activate", "bbbb0000"); got.code != 0 || !strings.Contains(d.sent["UpdateContainerInstancesState"], hostTwo) {
		t.Errorf("by the digits that lists show: %+v", got)
	}
}

func TestTheGPUsOfHostsWithTheSameNameAreNotAddedUp(t *testing.T) {
	gpus := []client.GPU{{Host: "box", HostID: hostOne, Health: "HEALTHY"}, {Host: "box", HostID: hostTwo, Health: "HEALTHY"}}
	failures := []client.Failure{{ARN: hostOne, Reason: spec.ReasonGPU}, {ARN: hostTwo, Reason: spec.ReasonGPU}}
	same(t, "shortage", gpuShortage(2, failures, gpus), "RESOURCE:GPU: no host has 2 GPUs free: box (aaaa0000) has 1 of 1 free, box (bbbb0000) has 1 of 1 free. "+
		"A task runs on one host, and none has more than 1: ask for fewer")
}

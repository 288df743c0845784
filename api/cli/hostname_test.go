package cli

import (
	"strings"
	"testing"
)

// newDuplicateNameHosts is a pool of two hosts with the same name, as several on one machine have.
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
	checkEqual(t, "by the name", got.err, `pinion: 2 hosts have the name "gpu-1" (`+hostOne+", "+hostTwo+"); use the id of one of them, or its first digits\n")
	if got := pinion(t, h, "activate", "bbbb0000"); got.code != 0 || !strings.Contains(h.bodies["UpdateContainerInstancesState"], hostTwo) {
		t.Errorf("by the digits that lists show: %+v", got)
	}
}

package run

import (
	"testing"

	"pinion/api/client"
)

// Of a gang, each task fits and all do not.
func TestAGangThatDoesNotFitIsToldHowManyDo(t *testing.T) {
	gpus := []client.GPU{}
	for i := range 8 {
		gpu := client.GPU{Host: "vm", HostID: "aaaa0000000000000000000000000001", Device: client.Device{Health: client.Healthy}}
		if i >= 6 {
			gpu.Task = "3f2a"
		}
		gpus = append(gpus, gpu)
	}
	failures := []client.Failure{{ARN: "aaaa0000000000000000000000000001", Reason: client.ReasonGPU}}
	checkEqual(t, "never", gangShortage(3, 4, failures, gpus), "RESOURCE:GPU: the 3 tasks of the gang start together, with 4 GPUs each, and there is room for 1 of them: vm has 6 of 8 free. "+
		"Also when nothing else runs there is room for 2: request fewer")
	checkEqual(t, "later", gangShortage(2, 4, failures, gpus), "RESOURCE:GPU: the 2 tasks of the gang start together, with 4 GPUs each, and there is room for 1 of them: vm has 6 of 8 free. "+
		"Without --no-wait the gang waits in the queue")
}

func TestTheGPUsOfHostsWithTheSameNameAreNotAddedUp(t *testing.T) {
	gpus := []client.GPU{{Host: "box", HostID: "aaaa0000000000000000000000000001", Device: client.Device{Health: client.Healthy}}, {Host: "box", HostID: "bbbb0000000000000000000000000002", Device: client.Device{Health: client.Healthy}}}
	failures := []client.Failure{{ARN: "aaaa0000000000000000000000000001", Reason: client.ReasonGPU}, {ARN: "bbbb0000000000000000000000000002", Reason: client.ReasonGPU}}
	checkEqual(t, "shortage", gpuShortage(2, failures, gpus), "RESOURCE:GPU: no host has 2 GPUs free: box (aaaa0000) has 1 of 1 free, box (bbbb0000) has 1 of 1 free. "+
		"A task runs on one host, and none has more than 1: request fewer")
}

package run

import (
	"testing"

	"pinion/api/client"
)

func TestTheGPUsOfHostsWithTheSameNameAreNotAddedUp(t *testing.T) {
	gpus := []client.GPU{{Host: "box", HostID: "aaaa0000000000000000000000000001", Device: client.Device{Health: client.Healthy}}, {Host: "box", HostID: "bbbb0000000000000000000000000002", Device: client.Device{Health: client.Healthy}}}
	failures := []client.Failure{{ARN: "aaaa0000000000000000000000000001", Reason: client.ReasonGPU}, {ARN: "bbbb0000000000000000000000000002", Reason: client.ReasonGPU}}
	checkEqual(t, "shortage", gpuShortage(2, failures, gpus), "RESOURCE:GPU: no host has 2 GPUs free: box (aaaa0000) has 1 of 1 free, box (bbbb0000) has 1 of 1 free. "+
		"A task runs on one host, and none has more than 1: request fewer")
}

package isolation

import (
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// A limit of swap is kept by hosts whose kernel counts it.
func TestALimitOfSwapIsForHostsThatCountIt(t *testing.T) {
	d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "main", Memory: 64, LinuxParameters: &spec.LinuxParameters{MaxSwap: new(int64)}}}}
	if got := RequirementsOf(d).RefusedBy(&spec.Host{CountsSwap: true}, false); got != "" {
		t.Error(got)
	}
	if got := RequirementsOf(d).RefusedBy(&spec.Host{Name: "gpu-1"}, true); !strings.Contains(got, "container main") || !strings.Contains(got, "host gpu-1") || !strings.Contains(got, "swapaccount=1") {
		t.Error(got)
	}
	d.Containers[0].LinuxParameters = &spec.LinuxParameters{Swappiness: new(int64)}
	if got := RequirementsOf(d).RefusedBy(&spec.Host{}, false); got != "" {
		t.Errorf("without a limit: %s", got)
	}
}

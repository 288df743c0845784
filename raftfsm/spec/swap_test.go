package spec

import (
	"strings"
	"testing"
)

// A limit of swap is kept by hosts whose kernel counts it.
func TestALimitOfSwapIsForHostsThatCountIt(t *testing.T) {
	d := &TaskDefinition{Containers: []ContainerDefinition{{Name: "main", Memory: 64, LinuxParameters: &LinuxParameters{MaxSwap: new(int64)}}}}
	if got := d.Isolation().RefusedBy(&Host{CountsSwap: true}, false); got != "" {
		t.Error(got)
	}
	if got := d.Isolation().RefusedBy(&Host{Name: "gpu-1"}, true); !strings.Contains(got, "container main") || !strings.Contains(got, "host gpu-1") || !strings.Contains(got, "swapaccount=1") {
		t.Error(got)
	}
	d.Containers[0].LinuxParameters = &LinuxParameters{Swappiness: new(int64)}
	if got := d.Isolation().RefusedBy(&Host{}, false); got != "" {
		t.Errorf("without a limit: %s", got)
	}
}

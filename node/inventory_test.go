package node

import (
	"errors"
	"strings"
	"testing"

	"pinion/gpu"
)

func TestGPUsThatCannotBeReadStayKnownAndAreGivenToNobody(t *testing.T) {
	last := gpu.Inventory{Devices: []gpu.Device{{UUID: "GPU-1", Health: gpu.Healthy}}, Driver: "580"}
	now := markUnhealthy(last, errors.New("the driver hangs"))
	if len(now.Devices) != 1 || now.Devices[0].Health != gpu.Unhealthy || now.Driver != "580" || !strings.Contains(now.Problem, "hangs") {
		t.Errorf("got %+v", now)
	}
	if last.Devices[0].Health != gpu.Healthy {
		t.Error("what was known before was changed")
	}
}

package gpu

import (
	"context"
	"encoding/json"
	"testing"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func TestAHostWithoutGPUsSaysSo(t *testing.T) {
	s := None()
	defer s.Close()
	inventory, err := s.Inventory(context.Background())
	if err != nil || len(inventory.Devices) > 0 || inventory.Problem != "" {
		t.Errorf("inventory is %+v, %v", inventory, err)
	}
	if _, err := s.Processes(context.Background(), "GPU-elsewhere"); err == nil {
		t.Error("answered for a GPU that it does not offer")
	}
	kind, content, err := s.CDI(context.Background())
	if err != nil || !json.Valid(content) {
		t.Fatalf("%s, %v", content, err)
	}
	spec, err := cdi.ParseSpec(content)
	if err != nil || spec.Kind != kind || len(spec.Devices) > 0 {
		t.Errorf("specification is %+v of kind %s, %v", spec, kind, err)
	}
}

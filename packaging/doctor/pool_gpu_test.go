package doctor

import (
	"strings"
	"testing"

	"pinion/api/client"
)

// What helps against an Xid does not help against a fan that stands still: its problem says what does, and a check shows that it did.
func TestTheRemedyFollowsTheProblemOfAGPU(t *testing.T) {
	for name, test := range map[string]struct {
		device client.Device
		remedy string
	}{
		"an error":       {client.Device{Health: "NEEDS_RESET", Problem: "Xid 48, an uncorrectable error of its memory"}, "mends most Xid errors"},
		"too hot":        {client.Device{Health: "SUSPECT", Problem: "it has slowed itself down, it is too hot: see to the fans"}, "as it says, then `pinion gpus check gpu-1/0`"},
		"a hung driver":  {client.Device{Health: "NEEDS_REBOOT", Problem: "the driver has not answered about it"}, "as it says, then `pinion gpus check gpu-1/0`"},
		"in quarantine":  {client.Device{Health: "QUARANTINED", Problem: "burns; its host says: Xid 79"}, "`pinion gpus release gpu-1/0`"},
		"nothing at all": {client.Device{Health: "HEALTHY"}, ""},
	} {
		h := &Host{}
		h.hosts(client.Host{Name: "gpu-1", Connected: true, GPUs: client.Inventory{Devices: []client.Device{test.device}}})
		if found := checkPool(t.Context(), h)[0]; !strings.Contains(found.Do, test.remedy) || (found.Level == OK) != (test.remedy == "") || !strings.Contains(found.Found, test.device.Problem) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

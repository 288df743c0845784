package host

import (
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/packaging/doctor"
	"pinion/raftfsm/spec"
)

// A host that is ready says in seven lines, below the first, what it has, what is missing and what to do next.
func TestWhatAHostSaysWhenItIsReady(t *testing.T) {
	bad := []doctor.Finding{{Check: "gpu driver", Level: doctor.Failed}, {Check: "disk type", Level: doctor.OK}, {Check: "clock sync", Level: doctor.Warning}}
	device := gpu.Device{UUID: "GPU-1", Model: "H100"}
	for name, c := range map[string]struct {
		is    ready
		words []string
		not   string
	}{
		"alone, with GPUs": {ready{hosts: 1, gpus: gpu.Inventory{Devices: []gpu.Device{device}, Driver: "570"}, examined: true, dataDir: "/var/lib/pinion"}, []string{"the only host", "driver 570", "--gpus 1 ", "root@10.0.0.5 ", "--join 10.0.0.5 ", "missing  nothing", "pinion run"}, "--data-dir"},
		"without GPUs":     {ready{hosts: 3, examined: true, findings: bad, dataDir: "/tmp/x"}, []string{"one of 3 hosts", "GPUs     none", "gpu driver, clock sync: ", "pinion --data-dir '/tmp/x' run pinion/self"}, "disk type"},
		"an agent":         {ready{}, []string{"an agent", "not known yet", "doctor   #"}, "--join"},
	} {
		c.is.host = spec.Host{Name: "gpu-1", Address: "10.0.0.5:7400", CPU: 4096, MemoryMiB: 1024}
		text := c.is.String()
		for _, word := range append(c.words, "gpu-1", "4 CPUs") {
			if !strings.Contains(text, word) {
				t.Errorf("%s: no %q in\n%s", name, word, text)
			}
		}
		if strings.Count(text, "\n") != 7 || strings.Contains(text, c.not) {
			t.Errorf("%s:\n%s", name, text)
		}
		c.is.host.Address = "127.0.0.1:7401"
		if text := c.is.String(); strings.Contains(text, "--join") || !strings.Contains(text, "doctor   #") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

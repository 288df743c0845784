package containerd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/node/containerd"
	"pinion/node/runtime"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

func TestLogOptions(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("seq 1 5000"), func(c *runtime.ContainerSpec) {
		c.Def.LogConfiguration = &logdriver.Configuration{LogDriver: "json-file", Options: map[string]string{"max-size": "64k", "max-file": "2"}}
	})
	h.wait(c)
	files, err := filepath.Glob(h.logs.Path(c.Task.ID, "main") + "*")
	if err != nil || len(files) != 2 {
		t.Errorf("files %v, %v", files, err)
	}
	if out := h.output(c); !strings.HasSuffix(out, "\n4999\n5000\n") {
		t.Errorf("it ends in %q", out[max(0, len(out)-40):])
	}
}

// Whatever the definition asks for, a container's log and those of its task stay within what the host gives.
func TestAHostBoundsWhatLogOptionsAskFor(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) {
		c.LogLimits = containerd.LogLimits{Container: 256 << 10, Task: 256 << 10}
	}).withBusybox()
	c := h.start(sh("seq 1 200000"), func(c *runtime.ContainerSpec) {
		c.Def.LogConfiguration = &logdriver.Configuration{LogDriver: "json-file", Options: map[string]string{"max-size": "1g", "max-file": "16"}}
		c.TaskDef.Containers = append(c.TaskDef.Containers, spec.ContainerDefinition{Name: "beside"})
	})
	h.wait(c)
	files, err := filepath.Glob(h.logs.Path(c.Task.ID, "main") + "*")
	total := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if err != nil || total > 128<<10 || total < 32<<10 {
		t.Errorf("%d bytes in %v, %v", total, files, err)
	}
	if out := h.output(c); !strings.HasSuffix(out, "\n199999\n200000\n") {
		t.Errorf("it ends in %q", out[max(0, len(out)-40):])
	}
}

package containerd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestLogOptions(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("seq 1 5000"), func(c *runtime.ContainerSpec) {
		c.Def.LogConfiguration = &spec.LogConfiguration{LogDriver: "json-file", Options: map[string]string{"max-size": "64k", "max-file": "2"}}
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

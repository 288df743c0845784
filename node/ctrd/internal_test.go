package ctrd

import (
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestAHookWithoutAnEnvironmentIsRefused(t *testing.T) {
	good := specs.Hook{Path: "/hook", Env: []string{"PATH=/bin"}}
	bad := specs.Hook{Path: "/hook"}
	if err := checkHooks(&specs.Hooks{CreateContainer: []specs.Hook{good}, Poststop: []specs.Hook{good}}); err != nil {
		t.Error(err)
	}
	if err := checkHooks(nil); err != nil {
		t.Error(err)
	}
	for name, hooks := range map[string]specs.Hooks{
		"prestart": {Prestart: []specs.Hook{bad}}, "createRuntime": {CreateRuntime: []specs.Hook{good, bad}},
		"createContainer": {CreateContainer: []specs.Hook{bad}}, "startContainer": {StartContainer: []specs.Hook{bad}},
		"poststart": {Poststart: []specs.Hook{bad}}, "poststop": {Poststop: []specs.Hook{bad}},
	} {
		if checkHooks(&hooks) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestGroupMountsAreFound(t *testing.T) {
	got := parseGroupMounts("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
	for controller, want := range map[string]string{
		"cpu": "/sys/fs/cgroup/cpu,cpuacct", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
		"name=systemd": "/sys/fs/cgroup/systemd", "": "/sys/fs/cgroup/unified",
	} {
		if got[controller] != want {
			t.Errorf("%q is at %q, want %q", controller, got[controller], want)
		}
	}
}

func TestSharesBecomeWeights(t *testing.T) {
	for shares, want := range map[int64]int64{2: 1, 1024: 39, 262144: 10000, 1 << 30: 10000} {
		if got := cpuWeight(shares); got != want {
			t.Errorf("%d: %d, want %d", shares, got, want)
		}
	}
}

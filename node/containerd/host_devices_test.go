package containerd_test

import (
	"errors"
	"strings"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// hostDevice is a device that every machine has, and that no container has at this path, or with these numbers, by itself.
func hostDevice(path, access string) runtime.Device {
	return runtime.Device{Path: path, Major: 10, Minor: 229, Access: access, Mode: 0o666}
}

// noDriver is a device whose driver no machine has: to open it fails otherwise than to open what is not given.
func noDriver(access string) runtime.Device {
	return runtime.Device{Path: "/dev/mine", Major: 245, Minor: 77, Access: access, Mode: 0o666}
}

func withDevices(devices ...runtime.Device) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.Devices = devices }
}

func TestAContainerHasDevicesOfItsHost(t *testing.T) {
	open := func(how string) string { return "(exec 3" + how + "/dev/mine) 2>&1 | grep -o '[A-Z][a-z]* [a-z ]*$';" }
	runContainerCases(t, map[string]containerCase{
		"a device":                 {withDevices(hostDevice("/dev/mine", "rwm")), "stat -c '%F %t:%T %a' /dev/mine", "character special file a:e5 666\n"},
		"at a path of its own":     {withDevices(hostDevice("/deep/er/mine", "rwm")), "test -c /deep/er/mine && echo there", "there\n"},
		"that it may open":         {withDevices(noDriver("rw")), open("<>") + open("<"), "No such device or address\nNo such device or address\n"},
		"or only read":             {withDevices(noDriver("r")), open("<>") + open("<"), "Operation not permitted\nNo such device or address\n"},
		"of an owner":              {withDevices(runtime.Device{Path: "/dev/mine", Major: 10, Minor: 229, Access: "rw", Mode: 0o640, UID: 7, GID: 44}), "stat -c '%u:%g %a' /dev/mine", "7:44 640\n"},
		"and no other":             {withDevices(hostDevice("/dev/mine", "rwm")), "mknod /dev/kmsg c 1 11 && cat /dev/kmsg 2>&1 >/dev/null | grep -o 'not permitted'", "not permitted\n"},
		"none without being asked": {nil, "mknod /dev/mine c 10 229 && cat /dev/mine 2>&1 >/dev/null | grep -o 'not permitted'", "not permitted\n"},
	})
}

// A device takes the place neither of a GPU nor of anything else, and leaves no node in a directory of the host.
func TestADeviceTakesNoOthersPlace(t *testing.T) {
	devices, withGPUs := withSimulatedGPUs(t, "2xh100")
	h := newHost(t, withGPUs).withBusybox()
	scratch := t.TempDir()
	for path, want := range map[string]string{
		"/dev/nvidia0": "another device", "/dev/../dev/nvidia0": "another device", "/dev/null": "of its own", "/data/mine": "is mounted at /data", "/data": "is mounted at /data", "/x/../data/mine": "is mounted at /data",
	} {
		err := h.runtime.Start(h.ctx(), h.task(sh("true"), withDevices(hostDevice(path, "rwm")), func(c *runtime.ContainerSpec) {
			c.GPUs = []string{devices[0].UUID}
			c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "data", ContainerPath: "/data"}}
			c.Volumes = map[string]runtime.Volume{"data": {Path: scratch}}
		}))
		if !errors.Is(err, runtime.ErrCreate) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestADeviceIsThereInAUserNamespace(t *testing.T) {
	h := newHost(t).withBusybox()
	if h.runtime.Features().NoUserNamespaces != nil {
		t.Skipf("NOT TESTED: %v", h.runtime.Features().NoUserNamespaces)
	}
	_, out := h.run(sh("stat -c '%F %t:%T %u:%g' /dev/mine"), withDevices(hostDevice("/dev/mine", "rwm")), func(c *runtime.ContainerSpec) { c.IDs = runtime.IDRange{First: someIDs} })
	if out != "character special file a:e5 0:0\n" {
		t.Errorf("it sees %q", out)
	}
}

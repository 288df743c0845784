//go:build cgo

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"golang.org/x/sys/unix"
	"tags.cncf.io/container-device-interface/specs-go"
)

// withDriverFiles puts into the root what an installed driver puts there.
func withDriverFiles(t *testing.T, d *driver, devices []*server.Device) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making device nodes needs root")
	}
	dev, lib, bin := filepath.Join(d.root, "dev"), filepath.Join(d.root, "usr/lib64"), filepath.Join(d.root, "usr/bin")
	for _, dir := range []string{dev, lib, bin} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for i, name := range []string{"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"} {
		must(t, unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o666, int(unix.Mkdev(195, uint32(i)))))
	}
	must(t, os.WriteFile(filepath.Join(bin, "nvidia-smi"), nil, 0o755))
	const version = ".so.550.54.15"
	for _, name := range []string{"libcuda", "libnvidia-ml"} {
		must(t, errors.Join(os.WriteFile(filepath.Join(lib, name+version), nil, 0o755), os.Symlink(name+version, filepath.Join(lib, name+".so.1"))))
	}
	d.lib.(*server.Server).DeviceGetCountFunc = func() (int, nvml.Return) { return 2, nvml.SUCCESS }
	for _, device := range devices {
		device.IsMigDeviceHandleFunc = func() (bool, nvml.Return) { return false, nvml.SUCCESS }
	}
}

func TestTheSpecificationNamesDevicesByUUIDAndIsSafe(t *testing.T) {
	d, devices := dgx(t)
	withDriverFiles(t, d, devices)
	described, err := d.cdi()
	must(t, err)
	var spec specs.Spec
	must(t, json.Unmarshal(described.JSON, &spec))
	if described.Kind != "nvidia.com/gpu" || len(spec.Devices) != 2 {
		t.Fatalf("spec %s", described.JSON)
	}
	for i, want := range devices[:2] {
		at := slices.IndexFunc(spec.Devices, func(d specs.Device) bool { return d.Name == want.UUID })
		if at < 0 || spec.Devices[at].ContainerEdits.DeviceNodes[0].Path != fmt.Sprintf("/dev/nvidia%d", i) {
			t.Errorf("device %d of %s", i, described.JSON)
		}
	}
	text := string(described.JSON)
	for _, want := range []string{"libcuda.so.550.54.15", "nvidia-smi", "/dev/nvidiactl"} {
		if !strings.Contains(text, want) {
			t.Errorf("the specification lacks %s", want)
		}
	}
	for _, unwanted := range []string{"NVIDIA_VISIBLE_DEVICES", memoryLimitsHook} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the specification holds %s", unwanted)
		}
	}
	if len(spec.ContainerEdits.Hooks) == 0 {
		t.Error("no hooks: the driver's libraries would not be found")
	}
	for _, hook := range spec.ContainerEdits.Hooks {
		if hook.Path != d.self || !slices.Equal(hook.Args[:2], []string{"pinion-nvml", "cdi-hook"}) || !slices.Contains(hook.Env, hookPath) {
			t.Errorf("hook %+v", hook)
		}
	}
}

func TestHardenReachesHooksOfDevicesToo(t *testing.T) {
	hook := func() *specs.Hook {
		return &specs.Hook{Path: "/p/pinion-nvml", Args: []string{"nvidia-cdi-hook", "chmod", "--mode", "755"}}
	}
	spec := &specs.Spec{
		ContainerEdits: specs.ContainerEdits{Hooks: []*specs.Hook{hook()}, Env: []string{"NVIDIA_VISIBLE_DEVICES=void", "A=b"}},
		Devices:        []specs.Device{{Name: "GPU-a", ContainerEdits: specs.ContainerEdits{Hooks: []*specs.Hook{hook()}}}},
	}
	must(t, harden(spec, "/p/pinion-nvml"))
	for _, got := range []*specs.Hook{spec.ContainerEdits.Hooks[0], spec.Devices[0].ContainerEdits.Hooks[0]} {
		if strings.Join(got.Args, " ") != "pinion-nvml cdi-hook chmod --mode 755" || !slices.Equal(got.Env, []string{hookPath}) {
			t.Errorf("hook %+v", got)
		}
	}
	if !slices.Equal(spec.ContainerEdits.Env, []string{"A=b"}) {
		t.Errorf("environment %v", spec.ContainerEdits.Env)
	}
}

func TestHardenRefusesForeignHooks(t *testing.T) {
	for name, hook := range map[string]*specs.Hook{
		"another program": {Path: "/usr/bin/nvidia-cdi-hook", Args: []string{"nvidia-cdi-hook", "chmod"}},
		"no arguments":    {Path: "/p/pinion-nvml"},
	} {
		spec := &specs.Spec{ContainerEdits: specs.ContainerEdits{Hooks: []*specs.Hook{hook}}}
		if err := harden(spec, "/p/pinion-nvml"); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"pinion/gpu"
)

func TestAContainerGetsExactlyItsGPUs(t *testing.T) {
	dir := t.TempDir()
	s, self := openWithSelf(t, "8xh100", dir)
	uuids := uuidsOf(t, s)
	spec := inject(t, s, uuids[5], uuids[2])

	var paths []string
	for _, d := range spec.Linux.Devices {
		paths = append(paths, d.Path)
		if d.Type != "c" || d.Major < firstMajor || d.Major > lastMajor {
			t.Errorf("device %+v", d)
		}
	}
	if want := []string{"/dev/nvidia-uvm", "/dev/nvidia2", "/dev/nvidia5", "/dev/nvidiactl"}; !slices.Equal(sorted(paths), want) {
		t.Errorf("devices are %v, want %v", paths, want)
	}

	var rules []string
	for _, r := range spec.Linux.Resources.Devices {
		rules = append(rules, fmt.Sprint(r.Allow, " ", r.Type, " ", *r.Minor, " ", r.Access))
	}
	if want := []string{"true c 2 rwm", "true c 253 rwm", "true c 255 rwm", "true c 5 rwm"}; !slices.Equal(sorted(rules), want) {
		t.Errorf("cgroup rules are %v, want %v", rules, want)
	}

	if len(spec.Mounts) != 1 || spec.Mounts[0].Source != self || spec.Mounts[0].Destination != "/usr/bin/nvidia-smi" || !slices.Contains(spec.Mounts[0].Options, "ro") {
		t.Errorf("mounts are %v", spec.Mounts)
	}
	if spec.Hooks != nil {
		t.Errorf("hooks are %v, want none: nothing of the simulator runs on the host", spec.Hooks)
	}
	want := []string{
		"IMAGE=1",
		"PINION_SIM_CUDA=13.0",
		"PINION_SIM_DRIVER=580.159.03",
		"PINION_SIM_GPU_2=" + uuids[2] + ",81559,NVIDIA H100 80GB HBM3",
		"PINION_SIM_GPU_5=" + uuids[5] + ",81559,NVIDIA H100 80GB HBM3",
	}
	if got := sorted(spec.Process.Env); !slices.Equal(got, want) {
		t.Errorf("environment is %q, want %q", got, want)
	}
}

func TestTheToolInsideTellsWhatTheSpecGave(t *testing.T) {
	s, _ := openWithSelf(t, "8xh100", t.TempDir())
	uuids := uuidsOf(t, s)
	spec := inject(t, s, uuids[5], uuids[2])
	var out strings.Builder
	code := smi{environ: spec.Process.Env, present: func(minor int) bool { return minor == 2 || minor == 5 }}.run([]string{"-L"}, &out)
	want := "GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + uuids[2] + ")\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: " + uuids[5] + ")\n"
	if code != 0 || out.String() != want {
		t.Errorf("exit code %d\n%s\nwant\n%s", code, out.String(), want)
	}
}

func TestEverySpecificationIsValid(t *testing.T) {
	for _, m := range models {
		s, _ := openWithSelf(t, fmt.Sprintf("%dx%s", len(m.slots), m.key), t.TempDir())
		names := cacheOf(t, s).ListDevices()
		if len(names) != len(m.slots) {
			t.Errorf("%s: CDI knows %v", m.key, names)
		}
	}
}

func openWithSelf(t *testing.T, spec, dir string) (gpu.Source, string) {
	t.Helper()
	needRoot(t)
	self, err := os.Executable()
	must(t, err)
	s, err := Open(spec, dir, self)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s, self
}

// inject applies the specification as a container runtime does.
func inject(t *testing.T, s gpu.Source, uuids ...string) *oci.Spec {
	t.Helper()
	kind, _, err := s.CDI(context.Background())
	must(t, err)
	spec := &oci.Spec{Process: &oci.Process{Env: []string{"IMAGE=1"}}, Linux: &oci.Linux{}}
	var names []string
	for _, uuid := range uuids {
		names = append(names, kind+"="+uuid)
	}
	if unknown, err := cacheOf(t, s).InjectDevices(spec, names...); err != nil {
		t.Fatalf("unknown %v: %v", unknown, err)
	}
	return spec
}

// cacheOf writes the specification where CDI's own package reads and validates it.
func cacheOf(t *testing.T, s gpu.Source) *cdi.Cache {
	t.Helper()
	_, content, err := s.CDI(context.Background())
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "sim.json"), content, 0o600))
	cache, err := cdi.NewCache(cdi.WithSpecDirs(dir), cdi.WithAutoRefresh(false))
	must(t, err)
	if problems := cache.GetErrors(); len(problems) > 0 {
		t.Fatalf("the specification is not valid: %v", problems)
	}
	return cache
}

func sorted(all []string) []string {
	ordered := slices.Clone(all)
	slices.Sort(ordered)
	return ordered
}

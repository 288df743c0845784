package visible

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhatAContainerSeesIsPrintedLineByLine(t *testing.T) {
	for intention, c := range map[string]struct {
		report Report
		want   string
	}{
		"two simulated GPUs": {
			Report{
				Devices: []Node{{"/dev/nvidia3", 240, 3, NoDriver}, {"/dev/nvidia10", 240, 10, NoDriver}},
				Env:     []string{"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b"},
				Tool:    &Tool{Path: "/usr/bin/nvidia-smi", Lines: []string{"GPU 0: Tesla T4 (UUID: GPU-a)", "GPU 1: Tesla T4 (UUID: GPU-b)"}},
			},
			`device /dev/nvidia3  (no driver behind it, as with simulated GPUs)
device /dev/nvidia10  (no driver behind it, as with simulated GPUs)
NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b
GPU 0: Tesla T4 (UUID: GPU-a)
GPU 1: Tesla T4 (UUID: GPU-b)
`,
		},
		"a real GPU and one that belongs to somebody else": {
			Report{
				Devices: []Node{{"/dev/nvidia0", 195, 0, Opens}, {"/dev/nvidia1", 195, 1, Refused}},
				Tool:    &Tool{Path: "/usr/bin/nvidia-smi", Error: "Driver/library version mismatch (exit status 18)"},
			},
			`device /dev/nvidia0
device /dev/nvidia1  (refused by the devices cgroup)
nvidia-smi failed: Driver/library version mismatch (exit status 18)
`,
		},
		"nothing": {
			Report{Env: []string{"NVIDIA_VISIBLE_DEVICES=void"}},
			"no GPU device in this container\nNVIDIA_VISIBLE_DEVICES=void\nno nvidia-smi in this container\n",
		},
	} {
		t.Run(intention, func(t *testing.T) {
			var out strings.Builder
			if err := c.report.Print(&out); err != nil || out.String() != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, out.String(), c.want)
			}
		})
	}
}

func TestNodesAreFoundInOrderAndTried(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making device nodes takes root")
	}
	dev := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dev, "nvidia-caps"), 0o755))
	for name, minor := range map[string]uint32{"nvidia10": 10, "nvidia2": 2, "nvidiactl": 255, "nvidia-caps/nvidia-cap1": 1} {
		must(t, unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o666, int(unix.Mkdev(240, minor))))
	}
	must(t, os.WriteFile(filepath.Join(dev, "nvidia-notes"), nil, 0o600))
	// The null device stands for a GPU that opens.
	must(t, unix.Mknod(filepath.Join(dev, "nvidia0"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, unix.Mknod(filepath.Join(dev, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))

	found, err := nodes(dev)
	must(t, err)
	want := []Node{
		{dev + "/nvidia0", 1, 3, Opens},
		{dev + "/nvidia2", 240, 2, NoDriver},
		{dev + "/nvidia10", 240, 10, NoDriver},
		{dev + "/nvidia-caps/nvidia-cap1", 240, 1, NoDriver},
		{dev + "/nvidiactl", 240, 255, NoDriver},
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %v\nwant  %v", found, want)
	}
}

func TestOnlyTheGPUEnvironmentIsTold(t *testing.T) {
	got := gpuEnvironment([]string{"SECRET=1", "NVIDIA_VISIBLE_DEVICES=void", "CUDA_VISIBLE_DEVICES=0", "MY_NVIDIA_X=1"})
	if want := []string{"CUDA_VISIBLE_DEVICES=0", "NVIDIA_VISIBLE_DEVICES=void"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheToolIsAskedAndItsFailureTold(t *testing.T) {
	for intention, c := range map[string]struct {
		script string
		lines  []string
		err    string
	}{
		"two GPUs":     {"echo GPU 0; echo GPU 1; echo noise >&2", []string{"GPU 0", "GPU 1"}, ""},
		"no devices":   {"echo No devices were found; exit 6", []string{}, "No devices were found (exit status 6)"},
		"broken":       {"echo no library >&2; exit 12", []string{}, "no library (exit status 12)"},
		"says nothing": {"exit 0", []string{}, ""},
	} {
		t.Run(intention, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "nvidia-smi")
			must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755))
			tool := runTool(path)
			if !slices.Equal(tool.Lines, c.lines) || tool.Error != c.err {
				t.Errorf("got %q, error %q", tool.Lines, tool.Error)
			}
		})
	}
	if tool := runTool(""); tool != nil {
		t.Errorf("a container without the tool got %v", tool)
	}
}

func TestLookingHereIsNoErrorAndReadsAsJSON(t *testing.T) {
	report, err := Probe()
	must(t, err)
	var out bytes.Buffer
	must(t, report.PrintJSON(&out))
	var read map[string]any
	must(t, json.Unmarshal(out.Bytes(), &read))
	for _, list := range []string{"devices", "env"} {
		if _, ok := read[list].([]any); !ok {
			t.Errorf("%s is no list in %s", list, out.String())
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

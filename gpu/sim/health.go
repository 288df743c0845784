package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu"
	"pinion/gpu/xid"
)

// maxReason bounds the bytes read of a reason.
const maxReason = 300

// Directories of the machine, in which a file named by the index of a GPU says what is wrong with it. Without the file nothing is.
const (
	brokenDir = "broken" // why it is broken; with the text "Xid N" it has the health of that error
	nvlinkDir = "nvlink" // how many of its NVLinks are down
	fabricDir = "fabric" // its gpu.FabricState
	slowDir   = "slow"   // the gpu.Slowdown for which it slows itself down, which shows in its usage alone
)

// faultDirs are those that give health, in the order in which they count: a GPU is as ill as the first says.
var faultDirs = []string{brokenDir, fabricDir, nvlinkDir}

// faultFiles are the texts of the files, by directory and index.
type faultFiles map[string]map[int]string

func readFaultFiles(dir string, count int) (faultFiles, error) {
	files := faultFiles{}
	for _, kind := range faultDirs {
		texts, err := readIndexed(filepath.Join(dir, kind), count)
		if err != nil {
			return nil, fmt.Errorf("health of the simulated GPUs: %w", err)
		}
		files[kind] = texts
	}
	return files, nil
}

// readIndexed reads the files of a directory that are named by the index of a GPU.
func readIndexed(dir string, count int) (map[int]string, error) {
	texts := map[int]string{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return texts, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		index, err := strconv.Atoi(entry.Name())
		if err != nil || index < 0 || index >= count {
			continue // an editor's file, or a GPU of an earlier, larger machine
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the directory was read
		}
		if err != nil {
			return nil, err
		}
		texts[index] = oneLine(string(content[:min(len(content), maxReason)]))
	}
	return texts, nil
}

// readAbsent returns why the machine has no GPUs yet, "" when it has them: after a boot the driver may take a minute to load.
func readAbsent(path string) string {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return reason(oneLine(string(content[:min(len(content), maxReason)])))
}

func oneLine(content string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(content, "")), " ")
}

func reason(text string) string {
	if text != "" {
		return text
	}
	return "broken by hand in the simulator"
}

// finding is what is wrong with the GPU at an index, which is of the model.
func (f faultFiles) finding(index int, m *model) gpu.Finding {
	for _, kind := range faultDirs {
		text, ok := f[kind][index]
		if !ok {
			continue
		}
		switch found, err := findingOf(kind, text, m); {
		case err != nil:
			return gpu.Finding{Health: gpu.Unhealthy, Problem: fmt.Sprintf("the simulator's file %s/%d: %v", kind, index, err)}
		case found.Problem != "":
			return found
		}
	}
	return gpu.Finding{}
}

// findingOf is what the text of a file says of a GPU of the model.
func findingOf(kind, text string, m *model) (gpu.Finding, error) {
	switch kind {
	case nvlinkDir:
		down, err := strconv.Atoi(text)
		if err != nil || down < 0 || down > m.lanes {
			return gpu.Finding{}, fmt.Errorf("%q is not how many of the %d NVLinks of a %s are down", text, m.lanes, m.key)
		}
		return gpu.NVLinksDown(down, m.lanes), nil
	case fabricDir:
		state := gpu.FabricState(text)
		if m.lanes == 0 {
			return gpu.Finding{}, fmt.Errorf("a %s has no NVLink fabric", m.key)
		}
		if !slices.Contains(gpu.FabricStates(), state) {
			return gpu.Finding{}, fmt.Errorf("%q is none of the states %s", text, fabricStates())
		}
		return state.Finding(""), nil
	}
	return gpu.Finding{Health: healthOf(reason(text)), Problem: reason(text)}, nil
}

// fabricStates are the states of a fabric, for people.
func fabricStates() string {
	var names []string
	for _, state := range gpu.FabricStates() {
		names = append(names, string(state))
	}
	return strings.Join(names, ", ")
}

// withHealth returns a copy of the devices with the health that the files give to their GPUs.
func (s *source) withHealth(devices []gpu.Device, files faultFiles) []gpu.Device {
	marked := slices.Clone(devices)
	for i := range marked {
		d := &marked[i]
		if found := files.finding(d.Index, &groupAt(s.groups, d.Index).model); found.Problem != "" {
			d.Health, d.Problem = found.Health, found.Problem
		}
	}
	return marked
}

// healthOf is the health of a device that is broken for the reason.
func healthOf(reason string) gpu.Health {
	var code uint64
	if _, err := fmt.Sscanf(reason, "Xid %d", &code); err == nil {
		if health := xid.Lookup(code).Health; health != gpu.Healthy {
			return health
		}
	}
	return gpu.Unhealthy
}

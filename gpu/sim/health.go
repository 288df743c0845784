package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pinion/gpu"
	"pinion/gpu/xid"
)

// maxReason bounds the bytes read of a reason.
const maxReason = 300

// readBroken returns, by device index, why the device is broken. A GPU breaks when a file named by its index is written
// into dir ("Xid 79, GPU has fallen off the bus"), and recovers when the file is removed. One that names an Xid has the health of that.
func readBroken(dir string, count int) (map[int]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("health of the simulated GPUs: %w", err)
	}
	broken := map[int]string{}
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
			return nil, fmt.Errorf("health of the simulated GPUs: %w", err)
		}
		broken[index] = reason(string(content[:min(len(content), maxReason)]))
	}
	return broken, nil
}

// readAbsent returns why the machine has no GPUs yet, "" when it has them: after a boot the driver may take a minute to load.
func readAbsent(path string) string {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return reason(string(content[:min(len(content), maxReason)]))
}

func reason(content string) string {
	if text := strings.Join(strings.Fields(strings.ToValidUTF8(content, "")), " "); text != "" {
		return text
	}
	return "broken by hand in the simulator"
}

// withHealth returns a copy of the devices with the broken ones marked unhealthy.
func withHealth(devices []gpu.Device, broken map[int]string) []gpu.Device {
	marked := make([]gpu.Device, len(devices))
	for i, d := range devices {
		if why, ok := broken[d.Index]; ok {
			d.Health, d.Problem = healthOf(why), why
		}
		marked[i] = d
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

package sim

import (
	"encoding/json"
	"fmt"
	"io/fs"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	"pinion/gpu"
)

// Kind names the simulated devices in CDI; it is not NVIDIA's, so that nothing takes them for real ones.
const Kind = "sim.pinion.dev/gpu"

// cdiVersion is the oldest version of the specification with everything that is used here.
const cdiVersion = "0.6.0"

// smiPath is where containers find the simulated nvidia-smi: the pinion binary under another name.
const smiPath = "/usr/bin/nvidia-smi"

// newCDISpec writes the CDI specification. There are no hooks: nothing of it runs on the host.
func newCDISpec(m model, devices []gpu.Device, nodes []node, self string) ([]byte, error) {
	spec := cdi.Spec{Version: cdiVersion, Kind: Kind}
	for i, d := range devices {
		spec.Devices = append(spec.Devices, cdi.Device{
			Name: d.UUID,
			ContainerEdits: cdi.ContainerEdits{
				DeviceNodes: []*cdi.DeviceNode{deviceNode(nodes[i])},
				Env:         []string{deviceEnv(d)},
			},
		})
	}
	spec.ContainerEdits.Env = driverEnv(m)
	for _, shared := range nodes[len(devices):] {
		spec.ContainerEdits.DeviceNodes = append(spec.ContainerEdits.DeviceNodes, deviceNode(shared))
	}
	if self != "" {
		spec.ContainerEdits.Mounts = []*cdi.Mount{{
			HostPath:      self,
			ContainerPath: smiPath,
			Options:       []string{"ro", "nosuid", "nodev", "bind"},
			Type:          "bind",
		}}
	}
	content, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("CDI specification of the simulated GPUs: %w", err)
	}
	return content, nil
}

func deviceNode(n node) *cdi.DeviceNode {
	mode := fs.FileMode(0o666)
	return &cdi.DeviceNode{
		Path:        "/dev/" + n.name,
		HostPath:    n.path,
		Type:        "c",
		Major:       int64(n.major),
		Minor:       int64(n.minor),
		FileMode:    &mode,
		Permissions: "rwm",
	}
}

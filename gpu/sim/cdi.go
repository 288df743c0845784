package sim

import (
	"encoding/json"
	"fmt"
	"io/fs"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	"pinion/gpu"
)

// Kind is the CDI kind of simulated devices. It differs from NVIDIA's, so that no other program takes them for real ones.
const Kind = "sim.pinion.dev/gpu"

// cdiVersion is the oldest version of the specification with every feature that is used here.
const cdiVersion = "0.6.0"

// smiPath is the path of the simulated nvidia-smi in containers: the pinion binary under another name.
const smiPath = "/usr/bin/nvidia-smi"

// newCDISpec builds the CDI specification. It has no hooks: nothing runs on the host.
func newCDISpec(m model, devices []gpu.Device, nodes machineNodes, self string) ([]byte, error) {
	spec := cdi.Spec{Version: cdiVersion, Kind: Kind}
	for i, d := range devices {
		spec.Devices = append(spec.Devices, cdi.Device{
			Name: d.UUID,
			ContainerEdits: cdi.ContainerEdits{
				DeviceNodes: []*cdi.DeviceNode{deviceNode(nodes.devices[i])},
				Env:         []string{deviceEnv(d)},
			},
		})
	}
	spec.ContainerEdits.Env = driverEnv(m)
	for _, shared := range nodes.shared {
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

//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/sirupsen/logrus"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// memoryLimitsHook is disabled: it changes settings of the host according to the container's environment, which an image
// can set.
const memoryLimitsHook = "apply-cuda-memory-limits"

// cdi generates the specification that gives containers the devices: device nodes, the driver's libraries and tools, and
// the hooks that make the container's linker find those libraries.
func (d *driver) cdi() (*protocol.Spec, error) {
	inventory := d.inventory()
	var names []string
	for _, device := range inventory.Devices {
		if device.Health != gpu.Hung {
			names = append(names, device.UUID)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no GPU to describe: %s", inventory.Problem)
	}
	byUUID, err := nvcdi.NewDeviceNamer(nvcdi.DeviceNameStrategyUUID)
	if err != nil {
		return nil, err
	}
	generator, err := nvcdi.New(
		nvcdi.WithLogger(logger()),
		nvcdi.WithNvmlLib(d.lib),
		nvcdi.WithDriverRoot(d.root),
		nvcdi.WithMode(nvcdi.ModeAuto),
		nvcdi.WithDeviceNamers(byUUID),
		nvcdi.WithNVIDIACDIHookPath(d.self),
		nvcdi.WithLdconfigPath(ldconfig()),
		nvcdi.WithDisabledHooks(memoryLimitsHook),
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableIPCDiscoverer),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing the CDI specification: %w", err)
	}
	described, err := generator.GetSpec(names...)
	if err != nil {
		return nil, fmt.Errorf("making the CDI specification: %w", err)
	}
	spec := described.Raw()
	if err := harden(spec, d.self); err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	return &protocol.Spec{Kind: spec.Kind, JSON: text}, err
}

// ldconfig is the host's binary that a hook runs on the container's libraries. On Ubuntu the plain name is a shell script,
// which would not find its files inside the container.
func ldconfig() string {
	const real = "/sbin/ldconfig.real"
	if _, err := os.Stat(real); err == nil {
		return real
	}
	return "/sbin/ldconfig"
}

// logger writes to standard error, which the agent logs.
func logger() *logrus.Logger {
	log := logrus.New()
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true, DisableTimestamp: true})
	return log
}

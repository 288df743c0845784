package compose

import (
	"fmt"
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/api/cli/run"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

// setProcess sets what the processes of the container may do, and how they end.
func setProcess(_ *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	if s.StopGracePeriod != nil {
		timeout := seconds(s.StopGracePeriod, 0)
		container.StopTimeout = &timeout
	}
	if len(s.CapAdd)+len(s.CapDrop) > 0 {
		linuxOf(container).Capabilities = &spec.Capabilities{Add: s.CapAdd, Drop: s.CapDrop}
	}
	if s.ShmSize > 0 {
		linuxOf(container).SharedMemorySize = inMiB(s.ShmSize)
	}
	if s.Init != nil && *s.Init {
		linuxOf(container).InitProcessEnabled = s.Init
	}
	for _, d := range s.Devices {
		permissions, ok := run.DevicePermissions(d.Permissions)
		if !ok {
			return fmt.Errorf("the permissions %q of the device %s are not of r, w and m", d.Permissions, d.Source)
		}
		linuxOf(container).Devices = append(linuxOf(container).Devices, linux.Device{HostPath: d.Source, ContainerPath: d.Target, Permissions: permissions})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Ulimits)) {
		limit := s.Ulimits[name]
		soft, hard := limit.Soft, limit.Hard
		if limit.Single != 0 {
			soft, hard = limit.Single, limit.Single
		}
		container.Ulimits = append(container.Ulimits, spec.Ulimit{Name: name, SoftLimit: int64(soft), HardLimit: int64(hard)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sysctls)) {
		container.SystemControls = append(container.SystemControls, spec.SystemControl{Namespace: name, Value: s.Sysctls[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.ExtraHosts)) {
		for _, address := range s.ExtraHosts[name] {
			container.ExtraHosts = append(container.ExtraHosts, spec.ExtraHost{Hostname: name, IPAddress: address})
		}
	}
	if s.Logging != nil {
		container.LogConfiguration = &logdriver.Configuration{LogDriver: s.Logging.Driver, Options: s.Logging.Options}
	}
	return nil
}

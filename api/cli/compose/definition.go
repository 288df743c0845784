package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/api/cli/run"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// defaultReservationMiB is the memory that is reserved for a container that says nothing.
const defaultReservationMiB = 256

// newDefinition is the task definition of a service: one container with its name.
func newDefinition(read *types.Project, s types.ServiceConfig) (run.Definition, error) {
	essential := true
	container := spec.ContainerDefinition{
		Name: s.Name, Image: s.Image, Essential: &essential, Command: s.Command, EntryPoint: s.Entrypoint,
		Environment: environment(s.Environment), WorkingDirectory: s.WorkingDir, User: s.User, Hostname: s.Hostname,
		PortMappings: []spec.PortMapping{}, MountPoints: []spec.MountPoint{}, VolumesFrom: []spec.VolumeFrom{},
		DNSServers: s.DNS, DNSSearchDomains: s.DNSSearch, DockerSecurityOptions: s.SecurityOpt,
		Privileged: ifSet(s.Privileged), ReadonlyRootFilesystem: ifSet(s.ReadOnly), PseudoTerminal: ifSet(s.Tty), Interactive: ifSet(s.StdinOpen),
	}
	if len(s.Labels) > 0 {
		container.DockerLabels = s.Labels
	}
	d := run.Definition{Family: "compose-" + read.Name + "-" + s.Name, NetworkMode: s.NetworkMode}
	for _, set := range []func(*run.Definition, *spec.ContainerDefinition, types.ServiceConfig) error{setResources, setGPUs, setPorts, setProcess, setHealthCheck} {
		if err := set(&d, &container, s); err != nil {
			return d, err
		}
	}
	if err := setSecrets(read.Secrets, &container, s); err != nil {
		return d, err
	}
	err := setVolumes(read.Volumes, &d, &container, s)
	d.Containers = []spec.ContainerDefinition{container}
	return d, err
}

func ifSet(value bool) *bool {
	if !value {
		return nil
	}
	return &value
}

// environment is in the order of the names. A variable without a value is one that is not set where the file was read.
func environment(given types.MappingWithEquals) []spec.KeyValue {
	variables := []spec.KeyValue{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if value := given[name]; value != nil {
			variables = append(variables, spec.KeyValue{Name: name, Value: *value})
		}
	}
	return variables
}

// setResources sets CPU and memory: those of deploy.resources, else cpus and mem_limit.
func setResources(d *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	resources := deployOf(s).Resources
	limits, reserved := cmp.Or(resources.Limits, &types.Resource{}), cmp.Or(resources.Reservations, &types.Resource{})
	if cores := cmp.Or(float64(limits.NanoCPUs.Value()), float64(s.CPUS)); cores > 0 {
		container.CPU = int64(cores * 1024)
		d.CPU = strconv.FormatInt(container.CPU, 10)
	}
	if cores := float64(reserved.NanoCPUs.Value()); cores > 0 {
		container.CPU = int64(cores * 1024)
	}
	container.Memory = inMiB(cmp.Or(limits.MemoryBytes, s.MemLimit))
	container.MemoryReservation = inMiB(cmp.Or(reserved.MemoryBytes, s.MemReservation))
	if container.Memory == 0 && container.MemoryReservation == 0 {
		container.MemoryReservation = defaultReservationMiB
	}
	return nil
}

// inMiB rounds up.
func inMiB(size types.UnitBytes) int64 { return (int64(size) + 1<<20 - 1) >> 20 }

// setGPUs sets how many GPUs there are, of gpus or of deploy.resources.reservations.devices.
func setGPUs(_ *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	requests := s.Gpus
	if reserved := deployOf(s).Resources.Reservations; reserved != nil {
		requests = append(slices.Clone(requests), reserved.Devices...)
	}
	gpus := 0
	for _, r := range requests {
		switch {
		case len(r.IDs) > 0:
			return fmt.Errorf("device_ids %v: the pool chooses the GPUs: give a count", r.IDs)
		case r.Driver != "" && r.Driver != "nvidia", len(r.Options) > 0, len(r.Capabilities) > 0 && !slices.Contains(r.Capabilities, "gpu"):
			return fmt.Errorf("a device of driver %q with the capabilities %v: GPUs of driver nvidia with the capability gpu can be had, without options", r.Driver, r.Capabilities)
		case r.Count < 1:
			return fmt.Errorf("GPUs without a count, or all of a host: say how many with count, as hosts differ")
		}
		gpus += int(r.Count)
	}
	if gpus > 0 {
		container.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: strconv.Itoa(gpus)}}
	}
	return nil
}

func setPorts(_ *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	for _, p := range s.Ports {
		hostPort := 0
		if p.Published != "" {
			port, err := strconv.ParseUint(p.Published, 10, 16)
			if err != nil {
				return fmt.Errorf("ports: published %q is not one port", p.Published)
			}
			hostPort = int(port)
		}
		if p.HostIP != "" {
			return fmt.Errorf("ports: host_ip %s: a port is published on all addresses of its host", p.HostIP)
		}
		container.PortMappings = append(container.PortMappings, spec.PortMapping{
			ContainerPort: int(p.Target), HostPort: hostPort, Protocol: p.Protocol, Name: p.Name, AppProtocol: p.AppProtocol,
		})
	}
	return setExposed(container, s)
}

// setHealthCheck sets the health check with ECS's defaults, which the pool would fill in.
func setHealthCheck(_ *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	given := s.HealthCheck
	if given == nil || given.Disable {
		return nil
	}
	if given.StartInterval != nil {
		return fmt.Errorf("healthcheck.start_interval is not supported: interval holds from the start")
	}
	check := &spec.HealthCheck{Command: given.Test, Interval: seconds(given.Interval, 30), Timeout: seconds(given.Timeout, 5), Retries: 3}
	if given.Retries != nil {
		check.Retries = int(*given.Retries)
	}
	if given.StartPeriod != nil {
		period := seconds(given.StartPeriod, 0)
		check.StartPeriod = &period
	}
	container.HealthCheck = check
	return nil
}

// seconds rounds up.
func seconds(given *types.Duration, otherwise int) int {
	if given == nil {
		return otherwise
	}
	return int((time.Duration(*given) + time.Second - 1) / time.Second)
}

func setVolumes(named types.Volumes, d *run.Definition, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	for i, v := range s.Volumes {
		name, source := fmt.Sprintf("volume-%d", i+1), v.Source
		switch {
		case v.Type == types.VolumeTypeTmpfs:
			if err := addTmpfs(container, v); err != nil {
				return err
			}
			continue
		case v.Type == types.VolumeTypeVolume && source == "":
			d.Volumes = append(d.Volumes, spec.Volume{Name: name, Host: &spec.HostVolume{}}) // ends with the task
			container.MountPoints = append(container.MountPoints, spec.MountPoint{SourceVolume: name, ContainerPath: v.Target, ReadOnly: v.ReadOnly})
			continue
		case v.Type == types.VolumeTypeVolume:
			shared := sharedVolume(named[source])
			if !slices.ContainsFunc(d.Volumes, func(known spec.Volume) bool { return known.Name == shared.Name }) {
				d.Volumes = append(d.Volumes, shared)
			}
			container.MountPoints = append(container.MountPoints, spec.MountPoint{SourceVolume: shared.Name, ContainerPath: v.Target, ReadOnly: v.ReadOnly})
			continue
		case v.Type != types.VolumeTypeBind:
			return fmt.Errorf("volumes: the type %s is not supported: bind, volume and tmpfs are", v.Type)
		case !strings.HasPrefix(source, "/"):
			return fmt.Errorf("volumes: %s is a relative path: the directory is one of the host that runs the task: give its absolute path there, or a named volume", source)
		}
		d.Volumes = append(d.Volumes, spec.Volume{Name: name, Host: &spec.HostVolume{SourcePath: source}})
		container.MountPoints = append(container.MountPoints, spec.MountPoint{SourceVolume: name, ContainerPath: v.Target, ReadOnly: v.ReadOnly})
	}
	return nil
}

// sharedVolume is a named volume of the file: the host that runs a task has it for all of them. One that is external has to be there.
func sharedVolume(v types.VolumeConfig) spec.Volume {
	makes := !bool(v.External)
	return spec.Volume{Name: v.Name, Docker: &volumeroot.DockerConfiguration{Scope: volumeroot.ScopeShared, Autoprovision: &makes, Labels: v.Labels}}
}

func addTmpfs(container *spec.ContainerDefinition, v types.ServiceVolumeConfig) error {
	if v.Tmpfs == nil || v.Tmpfs.Size == 0 {
		return fmt.Errorf("volumes: the tmpfs at %s has no size: give tmpfs.size", v.Target)
	}
	linux := linuxOf(container)
	linux.Tmpfs = append(linux.Tmpfs, spec.Tmpfs{ContainerPath: v.Target, Size: inMiB(v.Tmpfs.Size)})
	return nil
}

// linuxOf are the Linux parameters of a container, made when there are none.
func linuxOf(container *spec.ContainerDefinition) *spec.LinuxParameters {
	if container.LinuxParameters == nil {
		container.LinuxParameters = &spec.LinuxParameters{}
	}
	return container.LinuxParameters
}

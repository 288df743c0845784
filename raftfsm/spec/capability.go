package spec

import (
	"slices"
	"strings"

	"pinion/raftfsm/firelens"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/valuefrom"
)

// Names of ECS's capability attributes: what a host can do beside running plain containers. The names are those of the
// Amazon ECS agent; a definition requires them by the fields it uses.
const (
	agentCapabilityPrefix = "com.amazonaws.ecs.capability."
	logDriverPrefix       = agentCapabilityPrefix + "logging-driver."

	CapabilityPrivileged  = agentCapabilityPrefix + "privileged-container"
	CapabilityAppArmor    = agentCapabilityPrefix + "apparmor"
	CapabilityTaskLimits  = "ecs.capability.task-cpu-mem-limit"
	CapabilitySharedPIDs  = "ecs.capability.pid-ipc-namespace-sharing"
	CapabilityOrdering    = "ecs.capability.container-ordering"
	CapabilityHealthCheck = "ecs.capability.container-health-check"
	CapabilityRestarts    = "ecs.capability.container-restart-policy"
	CapabilityGPUDriver   = "ecs.capability.gpu-driver-version" // its value is the version
	CapabilitySSMSecrets  = "ecs.capability.secrets.ssm.environment-variables"
	CapabilityASMSecrets  = "ecs.capability.secrets.asm.environment-variables"
	firelensCapability    = "ecs.capability.firelens." // the type of a log router follows, or an option of one
	capabilitySSMLogs     = "ecs.capability.secrets.ssm.bootstrap.log-driver"
	capabilityASMLogs     = "ecs.capability.secrets.asm.bootstrap.log-driver"
	CapabilityRegistry    = "ecs.capability.private-registry-authentication.secretsmanager"
	CapabilityEnvFiles    = "ecs.capability.env-files.s3"
	CapabilityEFS         = "ecs.capability.efs"
	CapabilityTaskENI     = "ecs.capability.task-eni"        // see Host.TaskNetwork
	CapabilityGPUSharing  = "ecs.capability.gpu-sharing-mps" // see Host.SharesGPUs
	// CapabilityOptions is Pinion's own name too, for fields that ECS has no capability for, because every agent of its
	// knows them: extraHosts, links, dnsServers, dnsSearchDomains, systemControls, volumesFrom.
	CapabilityOptions = "pinion.capability.container-options"
)

// Words of `pinion up --allow` beside the names of capabilities: what reaches past a container.
const (
	AllowPrivileged = "privileged"
	AllowHostPID    = "host-pid"
	AllowHostIPC    = "host-ipc"
)

// capability is the name of a capability, the feature level that brought it, and what of a definition requires it: something of the
// task, or of any of its containers. What a host can do whatever it is made of follows from the version that runs there: hosts of the
// level and above have it, and none has to report it. Level 0 has a rule of its own.
type capability struct {
	name      string
	level     int
	task      func(*TaskDefinition) bool
	container func(*ContainerDefinition) bool
}

// capabilities lists every capability in the order in which they are shown.
var capabilities = append(logCapabilities(), []capability{
	{name: CapabilityPrivileged, container: func(c *ContainerDefinition) bool { return c.Privileged != nil && *c.Privileged }},
	{name: CapabilityAppArmor, container: func(c *ContainerDefinition) bool { return c.AppArmorProfile() != "" }},
	{name: CapabilityTaskLimits, level: 1, task: func(d *TaskDefinition) bool { return d.CPU != "" || d.Memory != "" }},
	{name: CapabilitySharedPIDs, level: 1, task: func(d *TaskDefinition) bool { return d.PIDMode != "" || d.IPCMode != "" }},
	{name: CapabilityOrdering, level: 1, container: func(c *ContainerDefinition) bool { return len(c.DependsOn) > 0 }},
	{name: CapabilityHealthCheck, level: 1, container: func(c *ContainerDefinition) bool { return c.HealthCheck != nil }},
	{name: CapabilityRestarts, level: 1, container: func(c *ContainerDefinition) bool { return c.RestartPolicy != nil }},
	{name: CapabilityOptions, level: 1, container: func(c *ContainerDefinition) bool {
		return len(c.ExtraHosts)+len(c.Links)+len(c.DNSServers)+len(c.DNSSearchDomains)+len(c.SystemControls)+len(c.VolumesFrom) > 0
	}},
	{name: CapabilitySSMSecrets, level: 1, container: secretsOf(valuefrom.ParameterStore, environmentSecrets)},
	{name: CapabilityASMSecrets, level: 1, container: secretsOf(valuefrom.SecretsManager, environmentSecrets)},
	{name: capabilitySSMLogs, level: 1, container: secretsOf(valuefrom.ParameterStore, logSecrets)},
	{name: capabilityASMLogs, level: 1, container: secretsOf(valuefrom.SecretsManager, logSecrets)},
	{name: CapabilityRegistry, level: 1, container: func(c *ContainerDefinition) bool { return c.RepositoryCredentials != nil }},
	{name: CapabilityEnvFiles, level: 1, container: func(c *ContainerDefinition) bool { return len(c.EnvironmentFiles) > 0 }},
	{name: CapabilityEFS, level: 1, task: func(d *TaskDefinition) bool {
		return slices.ContainsFunc(d.Volumes, func(v Volume) bool { return v.EFS != nil })
	}},
	{name: firelensCapability + firelens.Fluentd, level: 1, container: routerOf(firelens.Fluentd)},
	{name: firelensCapability + firelens.FluentBit, level: 1, container: routerOf(firelens.FluentBit)},
	{name: firelensCapability + "options.config.file", level: 1, container: func(c *ContainerDefinition) bool {
		return c.FirelensConfiguration != nil && c.FirelensConfiguration.File() != ""
	}},
	{name: CapabilityTaskENI, task: (*TaskDefinition).HasOwnAddress},
	{name: CapabilityGPUDriver}, // no field requires it: a definition may, by name
	{name: CapabilityGPUSharing, task: (*TaskDefinition).SharesGPU},
}...)

// logCapabilities are those of the log drivers: each is required by the containers whose log configuration names it.
func logCapabilities() (all []capability) {
	for _, driver := range logdriver.Names() {
		all = append(all, capability{name: logDriverPrefix + driver, level: 1, container: func(c *ContainerDefinition) bool {
			return c.LogConfiguration != nil && strings.ToLower(c.LogConfiguration.LogDriver) == driver
		}})
	}
	return all
}

func routerOf(kind string) func(*ContainerDefinition) bool {
	return func(c *ContainerDefinition) bool {
		return c.FirelensConfiguration != nil && c.FirelensConfiguration.Type == kind
	}
}

func environmentSecrets(c *ContainerDefinition) []valuefrom.Secret { return c.Secrets }
func logSecrets(c *ContainerDefinition) []valuefrom.Secret         { return c.LogConfiguration.SecretsOf() }

// secretsOf tells containers that have secrets of the store among all; a name without a store may be of either.
func secretsOf(store valuefrom.Store, all func(*ContainerDefinition) []valuefrom.Secret) func(*ContainerDefinition) bool {
	return func(c *ContainerDefinition) bool {
		return slices.ContainsFunc(all(c), func(s valuefrom.Secret) bool {
			ref, err := valuefrom.Parse(s.ValueFrom)
			return err == nil && (ref.Store == store || ref.Store == valuefrom.AnyStore && store == valuefrom.ParameterStore)
		})
	}
}

// Capabilities are the capability attributes of the host, in a fixed order.
func (h *Host) Capabilities() []Attribute {
	var all []Attribute
	for _, c := range capabilities {
		if value, carried, _ := h.capability(c.name); carried {
			all = append(all, Attribute{Name: c.name, Value: value})
		}
	}
	return all
}

// capability says whether the host carries the capability; known is false for attributes that are none.
func (h *Host) capability(name string) (value string, carried, known bool) {
	switch name {
	case CapabilityPrivileged: // where there are GPUs it could reach every one; see package isolation
		return "", slices.Contains(h.Allow, AllowPrivileged) && !h.MayHaveGPUs(), true
	case CapabilityAppArmor:
		return "", h.AppArmor, true
	case CapabilityGPUDriver:
		return h.GPUs.Driver, len(h.GPUs.Devices) > 0 && h.GPUs.Driver != "", true
	case CapabilityTaskENI:
		return "", h.hasSubnet(), true
	case CapabilityGPUSharing:
		return "", h.SharesGPUs(), true
	}
	for _, c := range capabilities {
		if c.name == name {
			return "", max(h.FeatureLevel, 1) >= c.level, true
		}
	}
	return "", false, false
}

// RequiredAttributes are the attributes that a host needs to run the definition: its requiresAttributes, and the capabilities that
// its fields require.
func (d *TaskDefinition) RequiredAttributes() []Attribute {
	all := d.RequiresAttributes[:len(d.RequiresAttributes):len(d.RequiresAttributes)]
	for i := range capabilities {
		if capabilities[i].requiredBy(d) {
			all = append(all, Attribute{Name: capabilities[i].name})
		}
	}
	return all
}

func (c *capability) requiredBy(d *TaskDefinition) bool {
	if c.task != nil {
		return c.task(d)
	}
	for i := range d.Containers {
		if c.container != nil && c.container(&d.Containers[i]) {
			return true
		}
	}
	return false
}

// MayHaveGPUs reports whether the host has GPUs, or may have some: they cannot be detected at the moment.
func (h *Host) MayHaveGPUs() bool { return len(h.GPUs.Devices) > 0 || h.GPUs.Problem != "" }

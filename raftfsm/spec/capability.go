package spec

import (
	"slices"
	"strings"

	"pinion/raftfsm/logdriver"
)

// Names of ECS's capability attributes: what a host can do beside running plain containers. The names are those of the
// Amazon ECS agent; a definition requires them by the fields it uses.
const (
	agentCapabilityPrefix = "com.amazonaws.ecs.capability."
	logDriverPrefix       = agentCapabilityPrefix + "logging-driver."

	CapabilityAwslogs     = logDriverPrefix + logdriver.Awslogs
	CapabilityJSONFile    = logDriverPrefix + logdriver.JSONFile
	CapabilityPrivileged  = agentCapabilityPrefix + "privileged-container"
	CapabilityAppArmor    = agentCapabilityPrefix + "apparmor"
	CapabilityTaskLimits  = "ecs.capability.task-cpu-mem-limit"
	CapabilitySharedPIDs  = "ecs.capability.pid-ipc-namespace-sharing"
	CapabilityOrdering    = "ecs.capability.container-ordering"
	CapabilityHealthCheck = "ecs.capability.container-health-check"
	CapabilityRestarts    = "ecs.capability.container-restart-policy"
	CapabilityGPUDriver   = "ecs.capability.gpu-driver-version" // its value is the version
	// CapabilityGPUSharing is Pinion's own name: a part of a GPU by NVIDIA MPS. No host has it yet, which is how tasks that
	// ask for it are refused.
	CapabilityGPUSharing = "pinion.capability.gpu-sharing.nvidia-mps"
	// CapabilityOptions is Pinion's own name too, for fields that ECS has no capability for, because every agent of its
	// knows them: extraHosts, dnsServers, dnsSearchDomains, systemControls, volumesFrom.
	CapabilityOptions = "pinion.capability.container-options"
)

// capability is the name of a capability and the feature level that brought it. What a host can do whatever it is made of follows from the
// version that runs there: hosts of the level and above have it, and none has to report it. Level 0 has a rule of its own.
type capability struct {
	name  string
	level int
}

// capabilities lists every capability in the order in which they are shown.
var capabilities = []capability{
	{CapabilityAwslogs, 1},
	{CapabilityJSONFile, 1},
	{CapabilityPrivileged, 0},
	{CapabilityAppArmor, 0},
	{CapabilityTaskLimits, 1},
	{CapabilitySharedPIDs, 1},
	{CapabilityOrdering, 1},
	{CapabilityHealthCheck, 1},
	{CapabilityRestarts, 1},
	{CapabilityOptions, 1},
	{CapabilityGPUDriver, 0},
	{CapabilityGPUSharing, 0},
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
	case CapabilityPrivileged: // where there are GPUs it could reach every one; see Isolation
		return "", slices.Contains(h.Allow, AllowPrivileged) && !h.mayHaveGPUs(), true
	case CapabilityAppArmor:
		return "", h.AppArmor, true
	case CapabilityGPUDriver:
		return h.GPUs.Driver, len(h.GPUs.Devices) > 0 && h.GPUs.Driver != "", true
	case CapabilityGPUSharing:
		return "", false, true
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
	needs := map[string]bool{
		CapabilityTaskLimits: d.CPU != "" || d.Memory != "",
		CapabilitySharedPIDs: d.PIDMode != "" || d.IPCMode != "",
		CapabilityGPUSharing: d.SharesGPU(),
	}
	for i := range d.Containers {
		d.Containers[i].addRequirements(needs)
	}
	all := d.RequiresAttributes[:len(d.RequiresAttributes):len(d.RequiresAttributes)]
	for _, c := range capabilities {
		if needs[c.name] {
			all = append(all, Attribute{Name: c.name})
		}
	}
	return all
}

func (c *ContainerDefinition) addRequirements(needs map[string]bool) {
	if c.LogConfiguration != nil {
		if driver, known := logdriver.Find(strings.ToLower(c.LogConfiguration.LogDriver)); known {
			needs[logDriverPrefix+driver.Name] = true
		}
	}
	for name, needed := range map[string]bool{
		CapabilityPrivileged:  c.Privileged != nil && *c.Privileged,
		CapabilityAppArmor:    c.AppArmorProfile() != "",
		CapabilityOrdering:    len(c.DependsOn) > 0,
		CapabilityHealthCheck: c.HealthCheck != nil,
		CapabilityRestarts:    c.RestartPolicy != nil,
		CapabilityOptions:     len(c.ExtraHosts)+len(c.DNSServers)+len(c.DNSSearchDomains)+len(c.SystemControls)+len(c.VolumesFrom) > 0,
	} {
		needs[name] = needs[name] || needed
	}
}

package raftfsm

import (
	"slices"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

func names(attributes []spec.Attribute) []string {
	var all []string
	for _, a := range attributes {
		all = append(all, a.Name)
	}
	return all
}

func TestCapabilitiesFollowFromTheVersionAndTheGPUs(t *testing.T) {
	withGPU := gpu.Inventory{Driver: "570.86.15", Devices: []gpu.Device{{UUID: "GPU-0"}}}
	cases := []struct {
		name     string
		host     spec.Host
		has, not []string
	}{
		{"any version", spec.Host{}, []string{spec.CapabilityAwslogs, spec.CapabilityJSONFile, spec.CapabilityTaskLimits}, []string{spec.CapabilityOrdering, spec.CapabilityHealthCheck}},
		{"this version", spec.Host{FeatureLevel: FeatureLevel}, []string{spec.CapabilityOrdering, spec.CapabilityHealthCheck, spec.CapabilityRestarts, spec.CapabilityOptions}, []string{spec.CapabilityGPUSharing}},
		{"no GPUs", spec.Host{}, []string{spec.CapabilityPrivileged}, []string{spec.CapabilityGPUDriver}},
		{"GPUs", spec.Host{GPUs: withGPU}, []string{spec.CapabilityGPUDriver}, []string{spec.CapabilityPrivileged}},
		{"GPUs that cannot be seen", spec.Host{GPUs: gpu.Inventory{Problem: "no driver"}}, nil, []string{spec.CapabilityPrivileged, spec.CapabilityGPUDriver}},
		{"what a host says of itself", spec.Host{Attributes: map[string]string{spec.CapabilityGPUSharing: "yes"}}, nil, []string{spec.CapabilityGPUSharing}},
	}
	for _, c := range cases {
		all := c.host.AllAttributes()
		for _, name := range slices.Concat(c.has, c.not) {
			_, carried := c.host.Attribute(name)
			_, listed := all[name]
			if want := slices.Contains(c.has, name); carried != want || listed != want {
				t.Errorf("%s: %s is carried %v and listed %v, want %v", c.name, name, carried, listed, want)
			}
		}
	}
	if value, _ := (&spec.Host{GPUs: withGPU}).Attribute(spec.CapabilityGPUDriver); value != "570.86.15" {
		t.Errorf("the driver's version is %q", value)
	}
}

func TestWhatADefinitionRequires(t *testing.T) {
	privileged := true
	d := &spec.TaskDefinition{
		CPU: "1024", IPCMode: "host", RequiresAttributes: []spec.Attribute{{Name: "rack", Value: "7"}},
		Containers: []spec.ContainerDefinition{
			{Name: "a", Privileged: &privileged, LogConfiguration: &spec.LogConfiguration{LogDriver: "json-file"}, RestartPolicy: &spec.RestartPolicy{}},
			{Name: "b", HealthCheck: &spec.HealthCheck{}, DependsOn: []spec.ContainerDependency{{ContainerName: "a", Condition: spec.DependStart}}, DNSServers: []string{"1.1.1.1"}},
			{Name: "c", ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: &spec.SharingStrategy{}}}},
		},
	}
	want := []string{
		"rack", spec.CapabilityJSONFile, spec.CapabilityPrivileged, spec.CapabilityTaskLimits, spec.CapabilitySharedPIDs, spec.CapabilityOrdering, spec.CapabilityHealthCheck,
		spec.CapabilityRestarts, spec.CapabilityOptions, spec.CapabilityGPUSharing,
	}
	if got := names(d.RequiredAttributes()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "plain"}}}).RequiredAttributes(); len(got) != 0 {
		t.Errorf("a plain container requires %v", got)
	}
}

// An older server would not know what to do with it, so it is not written while there is one.
func TestOnlyNewFieldsNeedTheNewLevel(t *testing.T) {
	seconds := 5
	for name, c := range map[string]struct {
		container spec.ContainerDefinition
		want      int
	}{
		"plain":         {spec.ContainerDefinition{ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}}, VolumesFrom: []spec.VolumeFrom{}}, 1},
		"health check":  {spec.ContainerDefinition{HealthCheck: &spec.HealthCheck{}}, 3},
		"order":         {spec.ContainerDefinition{DependsOn: []spec.ContainerDependency{{}}}, 3},
		"start timeout": {spec.ContainerDefinition{StartTimeout: &seconds}, 3},
		"every GPU":     {spec.ContainerDefinition{ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: spec.AllGPUs}}}, 3},
		"part of a GPU": {spec.ContainerDefinition{ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: &spec.SharingStrategy{}}}}, 3},
		"app protocol":  {spec.ContainerDefinition{PortMappings: []spec.PortMapping{{AppProtocol: "http"}}}, 3},
	} {
		command := RegisterDefinition{Definition: spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "first"}, c.container}}}
		if got := command.level(); got != c.want {
			t.Errorf("%s: level %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryGPUOfAHost(t *testing.T) {
	d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "plain"}, {Name: "all", ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: spec.AllGPUs}}}}}
	demand := spec.DemandOf(d)
	four := &spec.Host{GPUs: gpu.Inventory{Devices: make([]gpu.Device, 4)}}
	if got := demand.ForHost(four); !slices.Equal(got.GPUs, []int{0, 4}) {
		t.Errorf("of four: %v", got.GPUs)
	}
	if got := demand.ForHost(&spec.Host{}); got.TotalGPUs() != 1 {
		t.Errorf("a host without GPUs is asked for %v", got.GPUs)
	}
	if reason, _ := spec.Fits(spec.Free{GPUs: []string{"a", "b"}}, demand); reason != spec.ReasonGPU {
		t.Errorf("a demand that nobody has resolved fits: %q", reason)
	}
	whole := spec.Demand{GPUs: []int{2}}
	if got := whole.ForHost(four); !slices.Equal(got.GPUs, []int{2}) {
		t.Errorf("a number became %v", got.GPUs)
	}
}

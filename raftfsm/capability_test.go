package raftfsm

import (
	"slices"
	"testing"

	"pinion/gpu"
)

func names(attributes []Attribute) []string {
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
		host     Host
		has, not []string
	}{
		{"any version", Host{}, []string{CapabilityAwslogs, CapabilityJSONFile, CapabilityTaskLimits}, []string{CapabilityOrdering, CapabilityHealthCheck}},
		{"this version", Host{FeatureLevel: FeatureLevel}, []string{CapabilityOrdering, CapabilityHealthCheck, CapabilityRestarts, CapabilityOptions}, []string{CapabilityGPUSharing}},
		{"no GPUs", Host{}, []string{CapabilityPrivileged}, []string{CapabilityGPUDriver}},
		{"GPUs", Host{GPUs: withGPU}, []string{CapabilityGPUDriver}, []string{CapabilityPrivileged}},
		{"GPUs that cannot be seen", Host{GPUs: gpu.Inventory{Problem: "no driver"}}, nil, []string{CapabilityPrivileged, CapabilityGPUDriver}},
		{"what a host says of itself", Host{Attributes: map[string]string{CapabilityGPUSharing: "yes"}}, nil, []string{CapabilityGPUSharing}},
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
	if value, _ := (&Host{GPUs: withGPU}).Attribute(CapabilityGPUDriver); value != "570.86.15" {
		t.Errorf("the driver's version is %q", value)
	}
}

func TestWhatADefinitionRequires(t *testing.T) {
	privileged := true
	d := &TaskDefinition{
		CPU: "1024", IPCMode: "host", RequiresAttributes: []Attribute{{Name: "rack", Value: "7"}},
		Containers: []ContainerDefinition{
			{Name: "a", Privileged: &privileged, LogConfiguration: &LogConfiguration{LogDriver: "json-file"}, RestartPolicy: &RestartPolicy{}},
			{Name: "b", HealthCheck: &HealthCheck{}, DependsOn: []Dependency{{ContainerName: "a", Condition: DependStart}}, DNSServers: []string{"1.1.1.1"}},
			{Name: "c", ResourceRequirements: []ResourceRequirement{{Type: "GPU", SharingStrategy: &SharingStrategy{}}}},
		},
	}
	want := []string{
		"rack", CapabilityJSONFile, CapabilityPrivileged, CapabilityTaskLimits, CapabilitySharedPIDs, CapabilityOrdering, CapabilityHealthCheck,
		CapabilityRestarts, CapabilityOptions, CapabilityGPUSharing,
	}
	if got := names(d.Requires()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&TaskDefinition{Containers: []ContainerDefinition{{Name: "plain"}}}).Requires(); len(got) != 0 {
		t.Errorf("a plain container requires %v", got)
	}
}

// An older server would not know what to do with it, so it is not written while there is one.
func TestOnlyNewFieldsNeedTheNewLevel(t *testing.T) {
	seconds := 5
	for name, c := range map[string]struct {
		container ContainerDefinition
		want      int
	}{
		"plain":         {ContainerDefinition{ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: "1"}}, VolumesFrom: []VolumeFrom{}}, 1},
		"health check":  {ContainerDefinition{HealthCheck: &HealthCheck{}}, 3},
		"order":         {ContainerDefinition{DependsOn: []Dependency{{}}}, 3},
		"start timeout": {ContainerDefinition{StartTimeout: &seconds}, 3},
		"every GPU":     {ContainerDefinition{ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: AllGPUs}}}, 3},
		"part of a GPU": {ContainerDefinition{ResourceRequirements: []ResourceRequirement{{Type: "GPU", SharingStrategy: &SharingStrategy{}}}}, 3},
		"app protocol":  {ContainerDefinition{PortMappings: []PortMapping{{AppProtocol: "http"}}}, 3},
	} {
		command := RegisterDefinition{Definition: TaskDefinition{Containers: []ContainerDefinition{{Name: "first"}, c.container}}}
		if got := command.level(); got != c.want {
			t.Errorf("%s: level %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryGPUOfAHost(t *testing.T) {
	d := &TaskDefinition{Containers: []ContainerDefinition{{Name: "plain"}, {Name: "all", ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: AllGPUs}}}}}
	demand := DemandOf(d)
	four := &Host{GPUs: gpu.Inventory{Devices: make([]gpu.Device, 4)}}
	if got := demand.On(four); !slices.Equal(got.GPUs, []int{0, 4}) {
		t.Errorf("of four: %v", got.GPUs)
	}
	if got := demand.On(&Host{}); got.AllGPUs() != 1 {
		t.Errorf("a host without GPUs is asked for %v", got.GPUs)
	}
	if reason, _ := Fits(Free{GPUs: []string{"a", "b"}}, demand); reason != ReasonGPU {
		t.Errorf("a demand that nobody has resolved fits: %q", reason)
	}
	whole := Demand{GPUs: []int{2}}
	if got := whole.On(four); !slices.Equal(got.GPUs, []int{2}) {
		t.Errorf("a number became %v", got.GPUs)
	}
}

package spec

import (
	"slices"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/logdriver"
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
		{"any version", Host{}, []string{logDriverPrefix + "awslogs", logDriverPrefix + "json-file", logDriverPrefix + "syslog", logDriverPrefix + "fluentd", logDriverPrefix + "gelf", logDriverPrefix + "journald", CapabilityTaskLimits, CapabilityOrdering, CapabilityHealthCheck, CapabilityRestarts, CapabilityOptions}, []string{CapabilityGPUSharing}},
		{"no GPUs", Host{}, nil, []string{CapabilityPrivileged, CapabilityGPUDriver}},
		{"no GPUs, and privileged is allowed", Host{Allow: []string{AllowPrivileged}}, []string{CapabilityPrivileged}, []string{CapabilityGPUDriver}},
		{"AppArmor", Host{AppArmor: true}, []string{CapabilityAppArmor}, nil},
		{"no AppArmor", Host{}, nil, []string{CapabilityAppArmor}},
		{"GPUs", Host{GPUs: withGPU, Allow: []string{AllowPrivileged}}, []string{CapabilityGPUDriver}, []string{CapabilityPrivileged}},
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
			{Name: "a", Privileged: &privileged, LogConfiguration: &logdriver.Configuration{LogDriver: "json-file"}, RestartPolicy: &RestartPolicy{}},
			{Name: "b", HealthCheck: &HealthCheck{}, DependsOn: []ContainerDependency{{ContainerName: "a", Condition: DependStart}}, DNSServers: []string{"1.1.1.1"}},
			{Name: "c", ResourceRequirements: []ResourceRequirement{{Type: "GPU", SharingStrategy: &SharingStrategy{}}}},
		},
	}
	want := []string{
		"rack", logDriverPrefix + "json-file", CapabilityPrivileged, CapabilityTaskLimits, CapabilitySharedPIDs, CapabilityOrdering, CapabilityHealthCheck,
		CapabilityRestarts, CapabilityOptions, CapabilityGPUSharing,
	}
	if got := names(d.RequiredAttributes()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&TaskDefinition{Containers: []ContainerDefinition{{Name: "plain"}}}).RequiredAttributes(); len(got) != 0 {
		t.Errorf("a plain container requires %v", got)
	}
}

// What a host can do whatever it is made of follows from the version that runs there.
func TestACapabilityThatCameLaterIsNotThatOfAnOlderHost(t *testing.T) {
	ordering := slices.IndexFunc(capabilities, func(c capability) bool { return c.name == CapabilityOrdering })
	capabilities[ordering].level = 2
	t.Cleanup(func() { capabilities[ordering].level = 1 })
	for level, want := range []bool{false, false, true, true} {
		host := Host{FeatureLevel: level}
		if _, carried := host.Attribute(CapabilityOrdering); carried != want {
			t.Errorf("a host of level %d has it: %v", level, carried)
		}
		if _, carried := host.Attribute(logDriverPrefix + "awslogs"); !carried {
			t.Errorf("a host of level %d lost another one", level)
		}
	}
}

func TestEveryGPUOfAHost(t *testing.T) {
	d := &TaskDefinition{Containers: []ContainerDefinition{{Name: "plain"}, {Name: "all", ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: AllGPUs}}}}}
	demand := DemandOf(d)
	if got := demand.ForHost(4); !slices.Equal(got.GPUs, []int{0, 4}) {
		t.Errorf("of four: %v", got.GPUs)
	}
	if got := demand.ForHost(0); got.TotalGPUs() != 1 {
		t.Errorf("a host without GPUs is asked for %v", got.GPUs)
	}
	if lack, _ := Fits(&Free{GPUs: []string{"a", "b"}}, &demand); lack.Reason != ReasonGPU {
		t.Errorf("a demand that nobody has resolved fits: %+v", lack)
	}
	whole := Demand{GPUs: []int{2}}
	if got := whole.ForHost(4); !slices.Equal(got.GPUs, []int{2}) {
		t.Errorf("a number became %v", got.GPUs)
	}
}

// Each log driver can be required of a host.
func TestADefinitionRequiresItsLogDriver(t *testing.T) {
	for _, driver := range logdriver.All() {
		d := TaskDefinition{Containers: []ContainerDefinition{{LogConfiguration: &logdriver.Configuration{LogDriver: driver.Name}}}}
		if want := (Attribute{Name: "com.amazonaws.ecs.capability.logging-driver." + driver.Name}); !slices.Contains(d.RequiredAttributes(), want) {
			t.Errorf("%s: a definition does not require %s", driver.Name, want.Name)
		}
	}
}

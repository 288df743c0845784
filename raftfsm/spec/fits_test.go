package spec

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/hostport"
)

func TestDemandOf(t *testing.T) {
	gpus := func(value string) []ResourceRequirement { return []ResourceRequirement{{Type: "GPU", Value: value}} }
	cases := []struct {
		name string
		def  TaskDefinition
		want Demand
	}{
		{"containers add up", TaskDefinition{Containers: []ContainerDefinition{
			{CPU: 10, Memory: 100, ResourceRequirements: gpus("2")}, {CPU: 5, Memory: 50, ResourceRequirements: gpus("1")}}},
			Demand{CPU: 15, MemoryMiB: 150, GPUs: []int{2, 1}}},
		{"the reservation counts before the limit", TaskDefinition{Containers: []ContainerDefinition{
			{Memory: 100, MemoryReservation: 30}, {Memory: 50}}},
			Demand{MemoryMiB: 80, GPUs: []int{0, 0}}},
		{"the task level counts before the sum", TaskDefinition{CPU: "1024", Memory: "6144", Containers: []ContainerDefinition{
			{CPU: 10, Memory: 100}}},
			Demand{CPU: 1024, MemoryMiB: 6144, GPUs: []int{0}}},
		{"fixed ports in bridge mode", TaskDefinition{Containers: []ContainerDefinition{{PortMappings: []PortMapping{
			{ContainerPort: 80, HostPort: 8080, Protocol: "tcp"}, {ContainerPort: 81}, {ContainerPort: 53, HostPort: 53, Protocol: "udp"}}}}},
			Demand{Ports: []int{8080}, UDPPorts: []int{53}, GPUs: []int{0}}},
		{"container ports in host mode", TaskDefinition{NetworkMode: "host", Containers: []ContainerDefinition{{
			PortMappings: []PortMapping{{ContainerPort: 80}}}}},
			Demand{Ports: []int{80}, GPUs: []int{0}}},
		{"no ports without a network", TaskDefinition{NetworkMode: "none", Containers: []ContainerDefinition{{
			PortMappings: []PortMapping{{ContainerPort: 80, HostPort: 80}}}}},
			Demand{GPUs: []int{0}}},
		{"what cannot be read never fits", TaskDefinition{CPU: "1 vCPU", Memory: "-1", Containers: []ContainerDefinition{{
			ResourceRequirements: gpus("many")}}},
			Demand{CPU: math.MaxInt64, MemoryMiB: math.MaxInt64, GPUs: []int{math.MaxInt32}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := DemandOf(&c.def)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFits(t *testing.T) {
	free := Free{CPU: 100, MemoryMiB: 200, Ports: hostport.Set{22: true}, UDPPorts: hostport.Set{53: true}, GPUs: []string{"a", "b"}}
	cases := []struct {
		name           string
		demand         Demand
		reason, detail string
	}{
		{"nothing", Demand{}, "", ""},
		{"all of it", Demand{CPU: 100, MemoryMiB: 200, Ports: []int{80, 81}, GPUs: []int{1, 0, 1}}, "", ""},
		{"too much CPU", Demand{CPU: 101}, ReasonCPU, "needs 101 CPU units, 100 free"},
		{"too much memory", Demand{MemoryMiB: 201}, ReasonMemory, "needs 201 MiB of memory, 200 free"},
		{"a port that is taken", Demand{Ports: []int{80, 22}}, ReasonPorts, "host port 22 is taken"},
		{"the same port of the other protocol", Demand{Ports: []int{53}, UDPPorts: []int{22}}, "", ""},
		{"a UDP port that is taken", Demand{UDPPorts: []int{53}}, ReasonPorts, "UDP host port 53 is taken"},
		{"a port twice", Demand{Ports: []int{80, 80}}, ReasonPorts, "host port 80 is taken"},
		{"GPUs of all containers together", Demand{GPUs: []int{2, 1}}, ReasonGPU, "needs 3 GPUs, 2 free"},
		{"the first reason in ECS's order", Demand{CPU: 101, MemoryMiB: 201, Ports: []int{22}, GPUs: []int{3}}, ReasonCPU, "needs 101 CPU units, 100 free"},
		{"memory before ports", Demand{MemoryMiB: 201, Ports: []int{22}, GPUs: []int{3}}, ReasonMemory, "needs 201 MiB of memory, 200 free"},
		{"ports before GPUs", Demand{Ports: []int{22}, GPUs: []int{3}}, ReasonPorts, "host port 22 is taken"},
		{"amounts below nothing", Demand{CPU: -1}, ReasonCPU, "needs -1 CPU units, 100 free"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lack, fits := Fits(&free, &c.demand)
			if fits != (c.reason == "") || !fits && (lack.Reason != c.reason || lack.Detail() != c.detail) {
				t.Errorf("fits %v, %q", fits, lack.Detail())
			}
		})
	}
}

func TestAmountsThatRunOverNeverFit(t *testing.T) {
	huge := ContainerDefinition{CPU: 1 << 62, Memory: 1 << 62}
	demand := DemandOf(&TaskDefinition{Containers: []ContainerDefinition{huge, huge, huge, huge}})
	if lack, _ := Fits(&Free{CPU: 100, MemoryMiB: 200}, &demand); lack.Reason != ReasonCPU || demand.MemoryMiB < 1<<62 {
		t.Errorf("%+v for %+v", lack, demand)
	}
}

func TestFreeIsWhatTasksAndHealthLeave(t *testing.T) {
	host := fourGPUs("h")
	slices.Reverse(host.GPUs.Devices) // whatever the order they were listed in
	host.GPUs.Devices[1].Health = gpu.Unhealthy
	held, over := holder("t1", "h", "h-gpu1"), holder("t2", "h", "h-gpu0")
	held.Ports = []int{80}
	over.LastStatus = Stopped
	got := NewFree(&host, []*Task{held, over})
	want := Free{CPU: 3996, MemoryMiB: 8092, Ports: hostport.Set{22: true, 80: true}, GPUs: []string{"h-gpu0", "h-gpu3"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTakeLeavesCopiesAlone(t *testing.T) {
	host := fourGPUs("h")
	before := NewFree(&host, nil)
	after, taken := before, holder("t1", "h", "h-gpu0", "h-gpu2")
	taken.Ports, taken.UDPPorts = []int{80}, []int{53}
	after.Take(taken)
	if len(before.GPUs) != 4 || before.Ports[80] || before.CPU != 4096 {
		t.Errorf("the copy became %+v", before)
	}
	if derived := NewFree(&host, []*Task{taken}); !reflect.DeepEqual(after, derived) {
		t.Errorf("taken one by one %+v, derived at once %+v", after, derived)
	}
}

func TestHoldsIsWhatDemandOfSaidAtPlacement(t *testing.T) {
	placed := holder("t1", "h", "a", "b")
	placed.Ports, placed.UDPPorts = []int{80}, []int{53}
	want := Demand{CPU: 100, MemoryMiB: 100, Ports: []int{80}, UDPPorts: []int{53}, GPUs: []int{2}}
	if got := DemandOfTask(placed); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// fourGPUs is a host of 4096 CPU units and 8192 MiB with four healthy GPUs named "<id>-gpu<i>".
func fourGPUs(id string) Host {
	host := Host{ID: id, Name: id, CPU: 4096, MemoryMiB: 8192, Ports: []int{22}}
	for i := range 4 {
		device := gpu.Device{UUID: fmt.Sprintf("%s-gpu%d", id, i), Index: i, Minor: i, Health: gpu.Healthy}
		host.GPUs.Devices = append(host.GPUs.Devices, device)
	}
	return host
}

// holder is a placed task that holds the named GPUs of the host, 100 units and 100 MiB.
func holder(id, host string, gpus ...string) *Task {
	return &Task{ID: id, HostID: host, CPU: 100, MemoryMiB: 100, LastStatus: Pending, DesiredStatus: Running,
		Containers: []Container{{Name: "main", GPUs: gpus, LastStatus: Pending}}}
}

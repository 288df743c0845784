package api

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"pinion/api/client"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
)

// sharing asks for a share of a GPU; percent 0 leaves the limit of its threads out.
func sharing(mib, percent int32) []types.ResourceRequirement {
	mps := types.NvidiaMpsAllocation{Memory: aws.Int32(mib)}
	if percent != 0 {
		mps.MaxComputePercent = aws.Int32(percent)
	}
	return []types.ResourceRequirement{{Type: types.ResourceTypeGpu, SharingStrategy: &types.SharingStrategyMemberNvidiaMps{Value: mps}}}
}

func sharingContainer(name string, mib, percent int32) types.ContainerDefinition {
	return types.ContainerDefinition{Name: aws.String(name), Image: aws.String("busybox"), Memory: aws.Int32(64), ResourceRequirements: sharing(mib, percent)}
}

// mpsOf is the share that an answer shows.
func mpsOf(t *testing.T, s types.SharingStrategy) types.NvidiaMpsAllocation {
	t.Helper()
	member, ok := s.(*types.SharingStrategyMemberNvidiaMps)
	if !ok {
		t.Fatalf("the sharing strategy is %+v", s)
	}
	return member.Value
}

func TestTheSDKForGoSharesGPUs(t *testing.T) { onEveryHost(t, theSDKForGoSharesGPUs) }

func theSDKForGoSharesGPUs(t *testing.T, b *fixture, server *httptest.Server) {
	client, ctx := goClient(server, "us-east-1"), t.Context()
	instances := &ecs.DescribeContainerInstancesInput{ContainerInstances: []string{hostID}}
	if before := must(client.DescribeContainerInstances(ctx, instances))(t).ContainerInstances[0]; len(before.GpuDevices) != 0 {
		t.Errorf("a host that shares none shows %+v", before.GpuDevices)
	}
	host := newHost(hostID, "gpu-1", 4)
	host.GPUs.Simulated, host.GPUs.VRAMEnforcement = true, gpu.EnforcedByMPS
	b.mustApply(t, raftfsm.PutHost{Host: host})

	registered := must(client.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("shared"),
		ContainerDefinitions: []types.ContainerDefinition{sharingContainer("a", 10240, 30), sharingContainer("b", 2048, 0)}}))(t)
	asked := mpsOf(t, registered.TaskDefinition.ContainerDefinitions[0].ResourceRequirements[0].SharingStrategy)
	if aws.ToInt32(asked.Memory) != 10240 || aws.ToInt32(asked.MaxComputePercent) != 30 {
		t.Errorf("registered is %+v", asked)
	}
	run := must(client.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: aws.String("shared"), Count: aws.Int32(2)}))(t)
	must(client.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("whole"), ContainerDefinitions: []types.ContainerDefinition{{
		Name: aws.String("c"), Image: aws.String("busybox"), Memory: aws.Int32(64), ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeGpu, Value: aws.String("1")}}}}}))(t)
	whole := must(client.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: aws.String("whole")}))(t)
	if len(run.Tasks) != 2 || len(whole.Tasks) != 1 {
		t.Fatalf("%+v and %+v", run.Failures, whole.Failures)
	}
	containers := must(client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Tasks: []string{*run.Tasks[0].TaskArn}}))(t).Tasks[0].Containers
	shown := mpsOf(t, containers[1].GpuSharingStrategy)
	if aws.ToInt32(shown.Memory) != 2048 || shown.MaxComputePercent != nil || len(containers[0].GpuIds) != 1 || containers[0].GpuIds[0] != containers[1].GpuIds[0] {
		t.Errorf("%+v on %v and %v", shown, containers[0].GpuIds, containers[1].GpuIds)
	}
	if whole.Tasks[0].Containers[0].GpuSharingStrategy != nil {
		t.Errorf("a whole GPU is shown with %+v", whole.Tasks[0].Containers[0].GpuSharingStrategy)
	}
	checkDevices(t, must(client.DescribeContainerInstances(ctx, instances))(t).ContainerInstances[0].GpuDevices, containers[0].GpuIds[0], whole.Tasks[0].Containers[0].GpuIds[0])
}

// checkDevices checks the four GPUs of a host of which one is shared by four containers and one is owned.
func checkDevices(t *testing.T, devices []types.GpuDevice, shared, owned string) {
	t.Helper()
	if len(devices) != 4 {
		t.Fatalf("%d GPUs are shown", len(devices))
	}
	for _, d := range devices {
		mode, remaining, containers := types.GpuSharingModeIdle, int32(81559), int32(0)
		switch *d.GpuId {
		case shared:
			mode, remaining, containers = types.GpuSharingModeNvidiaMps, 81559-2*(10240+2048), 4
		case owned:
			mode, remaining, containers = types.GpuSharingModeDedicated, 0, 1
		}
		if d.SharingMode != mode || *d.RemainingMemoryInMiB != remaining || *d.ContainerCount != containers || *d.TotalMemoryInMiB != 81559 {
			t.Errorf("%s is %s with %d of %d MiB, %d containers", *d.GpuId, d.SharingMode, *d.RemainingMemoryInMiB, *d.TotalMemoryInMiB, *d.ContainerCount)
		}
	}
}

// TestOverridesKeepTheRulesOfShares: what an override makes of a task is held to the same rules as a definition.
func TestOverridesKeepTheRulesOfShares(t *testing.T) {
	_, server := listening(t)
	client, ctx := goClient(server, "us-east-1"), t.Context()
	must(client.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("shared"),
		ContainerDefinitions: []types.ContainerDefinition{sharingContainer("a", 1024, 0), sharingContainer("b", 1024, 0)}}))(t)
	both := sharing(1024, 0)
	both[0].Value = aws.String("1")
	for name, wrong := range map[string][]types.ResourceRequirement{
		"no percent of a GPU":        sharing(1024, -1),
		"more than all of a GPU":     sharing(1024, 101),
		"no memory":                  sharing(0, 0),
		"a whole GPU beside a share": {{Type: types.ResourceTypeGpu, Value: aws.String("1")}},
		"both":                       both,
		"every GPU beside a share":   {{Type: types.ResourceTypeGpu, Value: aws.String("ALL")}},
	} {
		_, err := client.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: aws.String("shared"),
			Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{Name: aws.String("a"), ResourceRequirements: wrong}}}})
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// GET /v1/gpus shows each share of a GPU: whose it is to those who see the team, otherwise its task and memory.
func TestEachShareOfAGPUIsShown(t *testing.T) {
	b := newFixture(t)
	host := newHost(hostID, "gpu-1", 1)
	host.GPUs.VRAMEnforcement = gpu.EnforcedByMPS
	b.mustApply(t, raftfsm.PutHost{Host: host})
	b.must(t, "RegisterTaskDefinition", `{"family":"shared","containerDefinitions":[{"name":"c","image":"busybox","memory":64,"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":10240,"maxComputePercent":30}}}]}]}`)
	var ids []string
	for _, team := range []string{"mine", "theirs"} {
		arn := b.run(t, `{"taskDefinition":"shared","tags":[{"key":"pinion.team","value":"`+team+`"}]}`).Tasks[0].ARN
		ids = append(ids, client.ResourceID(arn))
	}
	bearer := b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"mine"}}})
	var gpus []client.GPU
	b.as(bearer, httptest.NewRequest("GET", "/v1/gpus", nil)).decode(t, &gpus)
	want := []client.GPUShare{{Task: ids[0], Container: "c", Definition: "shared:1", Team: "mine", MemoryMiB: 10240, ComputePercent: 30}, {Task: ids[1], MemoryMiB: 10240, ComputePercent: 30}}
	if len(gpus) != 1 || gpus[0].Task != "" || gpus[0].Free() || !slices.Equal(gpus[0].Shares, want) {
		t.Errorf("%+v, want %+v", gpus, want)
	}
	var listed struct{ Tasks []client.Task }
	b.as(bearer, httptest.NewRequest("GET", "/v1/tasks", nil)).decode(t, &listed)
	if len(listed.Tasks) != 1 || listed.Tasks[0].GPUMemory() != 10240 {
		t.Errorf("the tasks are %+v", listed.Tasks)
	}
}

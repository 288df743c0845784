package api

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func TestTheSDKForGoParsesTheAnswersAboutNouns(t *testing.T) {
	onEveryHost(t, theSDKForGoParsesTheAnswersAboutNouns)
}

func theSDKForGoParsesTheAnswersAboutNouns(t *testing.T, b *fixture, server *httptest.Server) {
	client, ctx := goClient(server, "us-east-2"), t.Context()
	lab, insights := aws.String("lab"), []types.ClusterSetting{{Name: "containerInsights", Value: aws.String("enabled")}}
	logging := &types.ClusterConfiguration{ExecuteCommandConfiguration: &types.ExecuteCommandConfiguration{Logging: "OVERRIDE",
		LogConfiguration: &types.ExecuteCommandLogConfiguration{CloudWatchEncryptionEnabled: true, CloudWatchLogGroupName: lab}}}

	made := must(client.CreateCluster(ctx, &ecs.CreateClusterInput{ClusterName: lab, Settings: insights}))(t).Cluster
	must(client.UpdateCluster(ctx, &ecs.UpdateClusterInput{Cluster: lab, Configuration: logging, ServiceConnectDefaults: &types.ClusterServiceConnectDefaultsRequest{Namespace: lab}}))(t)
	must(client.UpdateClusterSettings(ctx, &ecs.UpdateClusterSettingsInput{Cluster: lab, Settings: insights}))(t)
	tags := []types.Tag{{Key: lab, Value: lab}}
	must(client.TagResource(ctx, &ecs.TagResourceInput{ResourceArn: made.ClusterArn, Tags: tags}))(t)
	must(client.UntagResource(ctx, &ecs.UntagResourceInput{ResourceArn: made.ClusterArn, TagKeys: []string{"none"}}))(t)
	if got := must(client.ListTagsForResource(ctx, &ecs.ListTagsForResourceInput{ResourceArn: made.ClusterArn}))(t); len(got.Tags) != 1 {
		t.Errorf("%+v", got.Tags)
	}
	all := types.ClusterField("").Values()
	described := must(client.DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: []string{"lab"}, Include: all}))(t).Clusters[0]
	if !described.Configuration.ExecuteCommandConfiguration.LogConfiguration.CloudWatchEncryptionEnabled || aws.ToString(described.ServiceConnectDefaults.Namespace) != "lab" {
		t.Errorf("%+v", described)
	}
	_, err := client.DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: aws.String("nope")})
	if _, ok := errors.AsType[*types.ClusterNotFoundException](err); !ok {
		t.Errorf("unknown cluster: %v", err)
	}
	must(client.DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: lab}))(t)

	attribute := []types.Attribute{{Name: lab, Value: lab, TargetType: "container-instance", TargetId: aws.String(hostID)}}
	must(client.PutAttributes(ctx, &ecs.PutAttributesInput{Attributes: attribute}))(t)
	must(client.ListAttributes(ctx, &ecs.ListAttributesInput{TargetType: "container-instance"}))(t)
	must(client.DeleteAttributes(ctx, &ecs.DeleteAttributesInput{Attributes: attribute}))(t)
	_, err = client.PutAttributes(ctx, &ecs.PutAttributesInput{Attributes: []types.Attribute{{Name: lab, TargetId: lab}}})
	if _, ok := errors.AsType[*types.TargetNotFoundException](err); !ok {
		t.Errorf("unknown host: %v", err)
	}

	must(client.PutAccountSetting(ctx, &ecs.PutAccountSettingInput{Name: "awsvpcTrunking", Value: aws.String("enabled")}))(t)
	must(client.PutAccountSettingDefault(ctx, &ecs.PutAccountSettingDefaultInput{Name: "awsvpcTrunking", Value: aws.String("enabled")}))(t)
	if got := must(client.ListAccountSettings(ctx, &ecs.ListAccountSettingsInput{EffectiveSettings: true, MaxResults: 10}))(t); len(got.Settings) != 10 {
		t.Errorf("%+v", got)
	}
	must(client.DeleteAccountSetting(ctx, &ecs.DeleteAccountSettingInput{Name: "awsvpcTrunking"}))(t)

	must(client.RegisterTaskDefinition(ctx, definitionInput()))(t)
	name := "tensorflow-1-gpu:1"
	must(client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &name}))(t)
	deleted := must(client.DeleteTaskDefinitions(ctx, &ecs.DeleteTaskDefinitionsInput{TaskDefinitions: []string{name, "f:1"}}))(t)
	if len(deleted.TaskDefinitions) != 1 || deleted.TaskDefinitions[0].DeleteRequestedAt == nil || len(deleted.Failures) != 1 {
		t.Errorf("%+v", deleted)
	}
	must(client.ListServices(ctx, &ecs.ListServicesInput{}))(t)
	must(client.DescribeServices(ctx, &ecs.DescribeServicesInput{Services: []string{"web"}}))(t)
	theSDKForGoUsesQueues(t, client)
	_, err = client.UpdateContainerAgent(ctx, &ecs.UpdateContainerAgentInput{ContainerInstance: aws.String(hostID)})
	if _, ok := errors.AsType[*types.NoUpdateAvailableException](err); !ok {
		t.Errorf("update of the agent: %v", err)
	}
}

func theSDKForGoUsesQueues(t *testing.T, client *ecs.Client) {
	ctx, night := t.Context(), aws.String("night")
	group := &types.AutoScalingGroupProvider{AutoScalingGroupArn: night, ManagedScaling: &types.ManagedScaling{Status: "ENABLED"}}
	made := must(client.CreateCapacityProvider(ctx, &ecs.CreateCapacityProviderInput{Name: night, AutoScalingGroupProvider: group}))(t).CapacityProvider
	must(client.UpdateCapacityProvider(ctx, &ecs.UpdateCapacityProviderInput{Name: night,
		AutoScalingGroupProvider: &types.AutoScalingGroupProviderUpdate{ManagedScaling: &types.ManagedScaling{TargetCapacity: aws.Int32(80)}}}))(t)
	strategy := []types.CapacityProviderStrategyItem{{CapacityProvider: night, Weight: 1}}
	put := func(names []string, strategy []types.CapacityProviderStrategyItem) types.Cluster {
		t.Helper()
		return *must(client.PutClusterCapacityProviders(ctx, &ecs.PutClusterCapacityProvidersInput{
			Cluster: aws.String("default"), CapacityProviders: names, DefaultCapacityProviderStrategy: strategy}))(t).Cluster
	}
	if k := put([]string{"night"}, strategy); k.DefaultCapacityProviderStrategy[0].Weight != 1 || aws.ToString(k.AttachmentsStatus) != "" {
		t.Errorf("%+v", k)
	}
	_, err := client.DeleteCapacityProvider(ctx, &ecs.DeleteCapacityProviderInput{CapacityProvider: made.CapacityProviderArn})
	if _, ok := errors.AsType[*types.ClientException](err); !ok {
		t.Errorf("deleted while it is used: %v", err)
	}
	put([]string{}, []types.CapacityProviderStrategyItem{})
	gone := must(client.DeleteCapacityProvider(ctx, &ecs.DeleteCapacityProviderInput{CapacityProvider: made.CapacityProviderArn}))(t).CapacityProvider
	if gone.Status != types.CapacityProviderStatusInactive || gone.UpdateStatus != types.CapacityProviderUpdateStatusDeleteComplete {
		t.Errorf("%+v", gone)
	}
	described := must(client.DescribeCapacityProviders(ctx, &ecs.DescribeCapacityProvidersInput{}))(t).CapacityProviders
	if len(described) != 1 || aws.ToInt32(described[0].AutoScalingGroupProvider.ManagedScaling.TargetCapacity) != 100 {
		t.Errorf("%+v", described)
	}
}

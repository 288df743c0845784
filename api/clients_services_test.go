package api

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func TestTheSDKForGoParsesTheAnswersAboutServices(t *testing.T) {
	onEveryHost(t, theSDKForGoParsesTheAnswersAboutServices)
}

func theSDKForGoParsesTheAnswersAboutServices(t *testing.T, _ *fixture, server *httptest.Server) {
	client, ctx := goClient(server, "us-east-2"), t.Context()
	must(client.RegisterTaskDefinition(ctx, definitionInput()))(t)
	web, family := aws.String("web"), aws.String("tensorflow-1-gpu")
	made := must(client.CreateService(ctx, &ecs.CreateServiceInput{
		ServiceName: web, TaskDefinition: family, DesiredCount: aws.Int32(2), ClientToken: web, HealthCheckGracePeriodSeconds: aws.Int32(30),
		PlacementStrategy: []types.PlacementStrategy{{Type: "spread", Field: aws.String("instanceId")}}, Tags: []types.Tag{{Key: web, Value: web}},
		DeploymentConfiguration: &types.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(50), DeploymentCircuitBreaker: &types.DeploymentCircuitBreaker{
			Enable: true, Rollback: true, ResetOnHealthyTask: aws.Bool(false), ThresholdConfiguration: &types.ThresholdConfiguration{Type: "COUNT", Value: 4}}},
	}))(t).Service
	if d := made.DeploymentConfiguration; aws.ToInt32(d.MaximumPercent) != 200 || d.DeploymentCircuitBreaker.ThresholdConfiguration.Value != 4 || len(made.Deployments) != 1 {
		t.Errorf("%+v", made)
	}
	must(client.TagResource(ctx, &ecs.TagResourceInput{ResourceArn: made.ServiceArn, Tags: []types.Tag{{Key: aws.String("b"), Value: web}}}))(t)
	described := must(client.DescribeServices(ctx, &ecs.DescribeServicesInput{Services: []string{"web"}, Include: []types.ServiceField{"TAGS"}}))(t).Services[0]
	if len(described.Tags) != 2 || aws.ToString(described.CurrentServiceDeployment) == "" {
		t.Errorf("%+v", described)
	}
	must(client.UpdateService(ctx, &ecs.UpdateServiceInput{Service: web, ForceNewDeployment: true, DesiredCount: aws.Int32(0)}))(t)
	rollouts := must(client.ListServiceDeployments(ctx, &ecs.ListServiceDeploymentsInput{Service: web}))(t).ServiceDeployments
	shown := must(client.DescribeServiceDeployments(ctx, &ecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{aws.ToString(rollouts[0].ServiceDeploymentArn)}}))(t)
	revisions := must(client.DescribeServiceRevisions(ctx, &ecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{aws.ToString(rollouts[0].TargetServiceRevisionArn)}}))(t)
	if len(rollouts) != 2 || shown.ServiceDeployments[0].CreatedAt == nil || aws.ToString(revisions.ServiceRevisions[0].ContainerImages[0].Image) == "" {
		t.Errorf("%+v %+v %+v", rollouts, shown, revisions)
	}
	must(client.GetTaskProtection(ctx, &ecs.GetTaskProtectionInput{Cluster: aws.String("default"), Tasks: []string{"a"}}))(t)
	must(client.DeleteService(ctx, &ecs.DeleteServiceInput{Service: web}))(t)
	_, err := client.UpdateService(ctx, &ecs.UpdateServiceInput{Service: web})
	if _, ok := errors.AsType[*types.ServiceNotActiveException](err); !ok {
		t.Errorf("updated after its end: %v", err)
	}
	_, err = client.StopServiceDeployment(ctx, &ecs.StopServiceDeploymentInput{ServiceDeploymentArn: rollouts[0].ServiceDeploymentArn})
	if _, ok := errors.AsType[*types.ConflictException](err); !ok {
		t.Errorf("stopped after its end: %v", err)
	}
}

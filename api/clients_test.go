package api

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// listening is a fixture on a port that demands signatures by the real clock.
func listening(t testing.TB) (*fixture, *httptest.Server) {
	b := newFixture(t)
	b.config.Trusted, b.config.Now = false, time.Now
	server := httptest.NewServer(NewHandler(b.config))
	t.Cleanup(server.Close)
	return b, server
}

// onEveryHost shows that clients cannot tell whether the host that they talk to leads.
func onEveryHost(t *testing.T, test func(t *testing.T, b *fixture, server *httptest.Server)) {
	t.Run("on the leader", func(t *testing.T) {
		t.Parallel()
		b, server := listening(t)
		test(t, b, server)
	})
	t.Run("on another host", func(t *testing.T) {
		t.Parallel()
		p := newTwoHosts(t)
		test(t, p.leader, p.follower)
	})
}

func goClient(server *httptest.Server, region string) *ecs.Client {
	return ecs.New(ecs.Options{
		BaseEndpoint: aws.String(server.URL), Region: region, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, ""),
	})
}

// The SDK for Go aborts a call when a single member has the wrong JSON type, so that it parses is the test.
func TestTheSDKForGoParsesEveryAnswer(t *testing.T) { onEveryHost(t, theSDKForGoParsesEveryAnswer) }

func theSDKForGoParsesEveryAnswer(t *testing.T, b *fixture, server *httptest.Server) {
	client, ctx := goClient(server, "us-east-2"), t.Context()
	name := aws.String("tensorflow-1-gpu")

	must(client.CreateCluster(ctx, &ecs.CreateClusterInput{ClusterName: aws.String("research"), Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))(t)
	clusters := must(client.DescribeClusters(ctx, &ecs.DescribeClustersInput{Include: []types.ClusterField{"STATISTICS", "TAGS", "SETTINGS"}}))(t)
	if arn := aws.ToString(clusters.Clusters[0].ClusterArn); arn != "arn:aws:ecs:us-east-2:123456789012:cluster/default" {
		t.Errorf("the ARN is not of the region that was signed for: %s", arn)
	}
	must(client.ListClusters(ctx, &ecs.ListClustersInput{}))(t)

	registered := must(client.RegisterTaskDefinition(ctx, definitionInput()))(t)
	if registered.TaskDefinition.Revision != 1 || registered.TaskDefinition.RegisteredAt == nil {
		t.Errorf("%+v", registered.TaskDefinition)
	}
	must(client.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: name, Include: []types.TaskDefinitionField{"TAGS"}}))(t)
	must(client.ListTaskDefinitions(ctx, &ecs.ListTaskDefinitionsInput{}))(t)
	must(client.ListTaskDefinitionFamilies(ctx, &ecs.ListTaskDefinitionFamiliesInput{}))(t)

	run := must(client.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: name, Overrides: &types.TaskOverride{
		ContainerOverrides: []types.ContainerOverride{{Name: name, Environment: []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("1")}}}},
	}}))(t)
	task := run.Tasks[0]
	if ids := task.Containers[0].GpuIds; len(ids) != 1 || aws.ToString(task.LastStatus) != "PENDING" || aws.ToString(task.Containers[0].Cpu) != "1024" {
		t.Errorf("%+v", task)
	}
	must(client.StartTask(ctx, &ecs.StartTaskInput{TaskDefinition: name, ContainerInstances: []string{hostID}}))(t)
	b.reportRunning(t, firstTask)
	must(client.ListTasks(ctx, &ecs.ListTasksInput{}))(t)
	must(client.StopTask(ctx, &ecs.StopTaskInput{Task: task.TaskArn, Reason: aws.String("enough")}))(t)
	b.reportExited(t, firstTask, 0)
	tasks := must(client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Tasks: []string{aws.ToString(task.TaskArn), "missing"}, Include: []types.TaskField{"TAGS"}}))(t)
	if done := tasks.Tasks[0]; aws.ToInt32(done.Containers[0].ExitCode) != 0 || done.StoppedAt.UnixMilli() != epoch.Add(6*time.Second).UnixMilli() || len(tasks.Failures) != 1 {
		t.Errorf("%+v", done)
	}
	instances := must(client.ListContainerInstances(ctx, &ecs.ListContainerInstancesInput{}))(t)
	described := must(client.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{ContainerInstances: instances.ContainerInstanceArns, Include: []types.ContainerInstanceField{"CONTAINER_INSTANCE_HEALTH", "TAGS"}}))(t)
	if health := described.ContainerInstances[0].HealthStatus; health.OverallStatus != "OK" || len(health.Details) != 2 {
		t.Errorf("%+v", health)
	}
	must(client.UpdateContainerInstancesState(ctx, &ecs.UpdateContainerInstancesStateInput{ContainerInstances: instances.ContainerInstanceArns, Status: "DRAINING"}))(t)
	must(client.DeregisterContainerInstance(ctx, &ecs.DeregisterContainerInstanceInput{ContainerInstance: aws.String(hostID), Force: aws.Bool(true)}))(t)
	must(client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("tensorflow-1-gpu:1")}))(t)
}

func definitionInput() *ecs.RegisterTaskDefinitionInput {
	name := aws.String("tensorflow-1-gpu")
	return &ecs.RegisterTaskDefinitionInput{Family: name, Memory: aws.String("6144"), ContainerDefinitions: []types.ContainerDefinition{{
		Name: name, Image: aws.String("brentley/tensorflow-gpu:8904d11"), Cpu: 1024,
		PortMappings:         []types.PortMapping{{ContainerPort: aws.Int32(8080)}},
		ResourceRequirements: []types.ResourceRequirement{{Type: "GPU", Value: aws.String("1")}},
		LogConfiguration:     &types.LogConfiguration{LogDriver: "awslogs", Options: map[string]string{"awslogs-group": "g"}},
		LinuxParameters:      &types.LinuxParameters{SharedMemorySize: aws.Int32(64)},
	}}}
}

func TestTheSDKForGoKnowsTheErrors(t *testing.T) { onEveryHost(t, theSDKForGoKnowsTheErrors) }

func theSDKForGoKnowsTheErrors(t *testing.T, _ *fixture, server *httptest.Server) {
	client, ctx := goClient(server, "us-east-2"), t.Context()
	_, err := client.RunTask(ctx, &ecs.RunTaskInput{Cluster: aws.String("nope"), TaskDefinition: aws.String("x")})
	if _, ok := errors.AsType[*types.ClusterNotFoundException](err); !ok {
		t.Errorf("unknown cluster: %v", err)
	}
	_, err = client.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: aws.String("x")})
	if refusal, ok := errors.AsType[*types.ClientException](err); !ok || refusal.ErrorMessage() != "TaskDefinition not found." {
		t.Errorf("unknown definition: %v", err)
	}
	_, err = client.DeleteExpressGatewayService(ctx, &ecs.DeleteExpressGatewayServiceInput{ServiceArn: aws.String("d")})
	if _, ok := errors.AsType[*types.UnsupportedFeatureException](err); !ok {
		t.Errorf("a gateway: %v", err)
	}
	wrongSecret := ecs.New(ecs.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-2", RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(keyID, "wrong", "")})
	if _, err = wrongSecret.ListClusters(ctx, nil); err == nil || !strings.Contains(err.Error(), "InvalidSignatureException") {
		t.Errorf("wrong secret: %v", err)
	}
}

func must[T any](answer T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// The commands of the documents, by the AWS CLI itself.
func TestTheAWSCLIRunsTheDocumentsVerbatim(t *testing.T) {
	onEveryHost(t, theAWSCLIRunsTheDocumentsVerbatim)
}

func theAWSCLIRunsTheDocumentsVerbatim(t *testing.T, _ *fixture, server *httptest.Server) {
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("the AWS CLI is not on this machine: this test says nothing")
	}
	aws := func(script string) map[string]any {
		t.Helper()
		var answer map[string]any
		text, err := shell(t, server, script)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s: %v in %q", script, err, text)
		}
		return answer
	}
	aws(`aws ecs register-task-definition --cli-input-json file://gpu-1-taskdef.json`)
	aws(`aws ecs register-task-definition --cli-input-json file://gpu-4-taskdef.json  `)
	aws(`aws ecs register-task-definition --cli-input-json file://gpu-8-taskdef.json `)
	aws(`aws ecs register-task-definition --cli-input-json file://seed3-example-ecs-gpu.json`)
	task := aws(`export cluster=default; aws ecs run-task --cluster $cluster --task-definition tensorflow-1-gpu`)["tasks"].([]any)[0].(map[string]any)
	if ids := task["containers"].([]any)[0].(map[string]any)["gpuIds"].([]any); len(ids) != 1 || task["lastStatus"] != "PENDING" {
		t.Errorf("%v", task)
	}
	eight := aws(`aws ecs run-task --cluster default --task-definition tensorflow-8-gpu`)
	if reason := eight["failures"].([]any)[0].(map[string]any)["reason"]; !strings.HasPrefix(reason.(string), "RESOURCE:") {
		t.Errorf("eight of four GPUs: %v", eight)
	}
	constrained := aws(`aws ecs run-task --cluster default --task-definition example-ecs-gpu --placement-constraints type=memberOf,expression="attribute:ecs.instance-type == p2.xlarge" --region us-east-2`)
	if reason := constrained["failures"].([]any)[0].(map[string]any)["reason"]; reason != "MemberOf placement constraint unsatisfied." {
		t.Errorf("no host is a p2.xlarge: %v", constrained)
	}
	racked := aws(`aws ecs list-container-instances --filter "attribute:ecs.availability-zone == rack-1 and not(task:group == nobody)"`)
	if len(racked["containerInstanceArns"].([]any)) != 1 {
		t.Errorf("%v", racked)
	}
	aws(`aws ecs describe-container-instances --container-instances $(aws ecs list-container-instances --query 'containerInstanceArns[0]' --output text) --include CONTAINER_INSTANCE_HEALTH`)
	aws(`aws ecs describe-clusters --include STATISTICS`)
	aws(`aws ecs stop-task --task $(aws ecs list-tasks --query 'taskArns[0]' --output text)`)
}

// boto3 has waiters and paginators of its own.
func TestBoto3(t *testing.T) { onEveryHost(t, withBoto3) }

func withBoto3(t *testing.T, b *fixture, server *httptest.Server) {
	if err := exec.Command("python3", "-c", "import boto3").Run(); err != nil {
		t.Skip("boto3 is not on this machine: this test says nothing")
	}
	b.mustApply(t, registerCommand(t))
	out, err := shell(t, server, `python3 - <<'PY'
import boto3
ecs = boto3.client('ecs')
for n in range(3): ecs.create_cluster(clusterName='c%d' % n)
print([a.split('/')[1] for p in ecs.get_paginator('list_clusters').paginate(PaginationConfig={'PageSize': 2}) for a in p['clusterArns']])
t = ecs.run_task(taskDefinition='f')['tasks'][0]
print(t['lastStatus'], t['containers'][0]['cpu'], t['createdAt'].year)
try: ecs.describe_clusters(include=['NOPE'])
except ecs.exceptions.InvalidParameterException as e: print(type(e).__name__)
PY`)
	if want := "['c0', 'c1', 'c2', 'default']\nPENDING 0 "; err != nil || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\nInvalidParameterException\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// shell runs a script in the documents' directory with what `pinion env` prints in its environment.
func shell(t testing.TB, server *httptest.Server, script string) (string, error) {
	t.Helper()
	dir, err := filepath.Abs("ecs/testdata")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_ENDPOINT_URL_ECS=" + server.URL, "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2=" + server.URL, "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS=" + server.URL, "AWS_ENDPOINT_URL_CLOUDWATCH=" + server.URL, "AWS_ENDPOINT_URL_APPLICATION_AUTO_SCALING=" + server.URL, "AWS_ACCESS_KEY_ID=" + keyID,
		"AWS_SECRET_ACCESS_KEY=" + secret, "AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1"}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(string(exit.Stderr))
	}
	return string(out), err
}

// Whoever has curl and a key needs no SDK.
func TestCurlSignsByItself(t *testing.T) { onEveryHost(t, curlSignsByItself) }

func curlSignsByItself(t *testing.T, b *fixture, server *httptest.Server) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine: this test says nothing")
	}
	const signed = `curl -sS --fail-with-body --aws-sigv4 aws:amz:$AWS_REGION:ecs -u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" `
	for what, c := range map[string]struct{ script, want string }{
		"an operation":           {signed + `--json '{"clusterName":"one"}' $AWS_ENDPOINT_URL_ECS/v1/CreateCluster`, `"clusterName":"one"`},
		"in YAML":                {signed + `-H 'Content-Type: application/yaml' --data-binary $'clusterName: two\n' $AWS_ENDPOINT_URL_ECS/v1/CreateCluster`, `"clusterName":"two"`},
		"a document":             {signed + `$AWS_ENDPOINT_URL_ECS/v1/hosts`, `"name":"gpu-1"`},
		"with a query":           {signed + `"$AWS_ENDPOINT_URL_ECS/v1/hosts?cluster=none"`, `[]`},
		"by AWS's protocol":      {signed + `-H 'X-Amz-Target: AmazonEC2ContainerServiceV20141113.ListTasks' -H 'Content-Type: application/x-amz-json-1.1' -d '{}' $AWS_ENDPOINT_URL_ECS/`, `"taskArns":[]`},
		"with a key as it is":    {`curl -sS --fail-with-body -H "Authorization: Bearer $AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" --json '{}' $AWS_ENDPOINT_URL_ECS/v1/ListTasks`, `"taskArns":[]`},
		"an answer that is gzip": {signed + `--compressed --json '{}' $AWS_ENDPOINT_URL_ECS/v1/ListTasks`, `"taskArns":[]`},
	} {
		if out, err := shell(t, server, c.script); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	out, err := shell(t, server, strings.Replace(signed, "AWS_SECRET_ACCESS_KEY", "AWS_REGION", 1)+`$AWS_ENDPOINT_URL_ECS/v1/hosts`)
	if err == nil || !strings.Contains(out, "InvalidSignatureException") {
		t.Errorf("a wrong secret: %v\n%s", err, out)
	}
}

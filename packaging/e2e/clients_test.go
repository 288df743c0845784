package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// settings is the environment that `pinion env` makes, by name.
func (h *host) settings(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pair := range h.env(t) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// sdk is the AWS SDK for Go v2, whose parser is strict about types.
func (h *host) sdk(t testing.TB) *ecs.Client {
	t.Helper()
	s := h.settings(t)
	return ecs.New(ecs.Options{
		BaseEndpoint: aws.String(s["AWS_ENDPOINT_URL_ECS"]),
		Region:       s["AWS_REGION"],
		Credentials:  credentials.NewStaticCredentialsProvider(s["AWS_ACCESS_KEY_ID"], s["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:   trusting(t, s["AWS_CA_BUNDLE"]),
	})
}

func trusting(t testing.TB, caFile string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("%s holds no certificate", caFile)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func TestTheGoSDKParsesEveryResponse(t *testing.T) {
	h, ctx := eightGPUs(t), t.Context()
	c := h.sdk(t)
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := c.CreateCluster(ctx, &ecs.CreateClusterInput{ClusterName: aws.String("sdk"), Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
	check("CreateCluster", err)
	_, err = c.DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: []string{"sdk", "nowhere"}, Include: []types.ClusterField{types.ClusterFieldStatistics, types.ClusterFieldTags}})
	check("DescribeClusters", err)
	_, err = c.ListClusters(ctx, &ecs.ListClustersInput{})
	check("ListClusters", err)
	registered, err := c.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("sdk"), ContainerDefinitions: []types.ContainerDefinition{{
		Name: aws.String("c"), Image: aws.String("busybox"), Memory: aws.Int32(64), Command: []string{"sleep", "1000"}, StopTimeout: aws.Int32(2),
		ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeGpu, Value: aws.String("2")}}}}})
	check("RegisterTaskDefinition", err)
	_, err = c.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: registered.TaskDefinition.TaskDefinitionArn})
	check("DescribeTaskDefinition", err)
	_, err = c.ListTaskDefinitions(ctx, &ecs.ListTaskDefinitionsInput{})
	check("ListTaskDefinitions", err)
	_, err = c.ListTaskDefinitionFamilies(ctx, &ecs.ListTaskDefinitionFamiliesInput{})
	check("ListTaskDefinitionFamilies", err)
	ran, err := c.RunTask(ctx, &ecs.RunTaskInput{TaskDefinition: aws.String("sdk")})
	check("RunTask", err)
	if len(ran.Tasks) != 1 || len(ran.Tasks[0].Containers[0].GpuIds) != 2 || aws.ToString(ran.Tasks[0].LastStatus) != "PENDING" {
		t.Fatalf("RunTask answered %+v", ran)
	}
	arn := *ran.Tasks[0].TaskArn
	instances, err := c.ListContainerInstances(ctx, &ecs.ListContainerInstancesInput{})
	check("ListContainerInstances", err)
	started, err := c.StartTask(ctx, &ecs.StartTaskInput{TaskDefinition: aws.String("sdk"), ContainerInstances: instances.ContainerInstanceArns})
	check("StartTask", err)
	_, err = c.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{ContainerInstances: instances.ContainerInstanceArns, Include: []types.ContainerInstanceField{types.ContainerInstanceFieldContainerInstanceHealth}})
	check("DescribeContainerInstances", err)
	check("tasks-running waiter", ecs.NewTasksRunningWaiter(c).Wait(ctx, &ecs.DescribeTasksInput{Tasks: []string{arn}}, patience, quick))
	_, err = c.ListTasks(ctx, &ecs.ListTasksInput{Family: aws.String("sdk")})
	check("ListTasks", err)
	for _, task := range append(started.Tasks, ran.Tasks...) {
		_, err = c.StopTask(ctx, &ecs.StopTaskInput{Task: task.TaskArn, Reason: aws.String("enough")})
		check("StopTask", err)
		check("tasks-stopped waiter", ecs.NewTasksStoppedWaiter(c).Wait(ctx, &ecs.DescribeTasksInput{Tasks: []string{*task.TaskArn}}, patience))
	}
	_, err = c.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: registered.TaskDefinition.TaskDefinitionArn})
	check("DeregisterTaskDefinition", err)
	if _, err := c.ListServices(ctx, &ecs.ListServicesInput{}); err == nil || !strings.Contains(err.Error(), "ListServices") {
		t.Errorf("an operation that is not built answered %v", err)
	}
}

func quick(o *ecs.TasksRunningWaiterOptions) {
	o.MinDelay = 50 * time.Millisecond
	o.MaxDelay = time.Second
}

func TestBoto3ParsesEveryResponse(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import boto3").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: boto3 is not on this machine: %s", out)
	}
	h := eightGPUs(t)
	out, err := h.sh(t, "python3 ../../../packaging/e2e/boto3_check.py")
	if err != nil || !strings.Contains(out, "all parsed") {
		t.Errorf("%s\n%v", out, err)
	}
}

func wrongClock(t *testing.T, h *host) {
	s := h.settings(t)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s["AWS_ENDPOINT_URL_ECS"]+"/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.ListClusters")
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	const hashOfBraces = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	key := aws.Credentials{AccessKeyID: s["AWS_ACCESS_KEY_ID"], SecretAccessKey: s["AWS_SECRET_ACCESS_KEY"]}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, request, hashOfBraces, "ecs", s["AWS_REGION"], time.Now().Add(-20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	response, err := trusting(t, s["AWS_CA_BUNDLE"]).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 4 || !strings.Contains(response.Header.Get("X-Amzn-ErrorType"), "InvalidSignatureException") {
		t.Errorf("%s %v", response.Status, response.Header)
	}
}

package api

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Every operation of Application Auto Scaling by the AWS CLI, which also says what it cannot parse.
func TestTheAWSCLIScalesAService(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("the AWS CLI is not on this machine: this test says nothing")
	}
	onEveryHost(t, func(t *testing.T, _ *fixture, server *httptest.Server) {
		definition, err := os.ReadFile("ecs/testdata/gpu-1-taskdef.json")
		if err != nil {
			t.Fatal(err)
		}
		out, err := shell(t, server, `set -e
aws ecs register-task-definition --cli-input-json '`+string(definition)+`' --query taskDefinition.revision
aws ecs create-service --service-name web --task-definition tensorflow-1-gpu --desired-count 1 --query service.desiredCount
of="--service-namespace ecs --resource-id service/default/web --scalable-dimension ecs:service:DesiredCount"
scale="aws application-autoscaling"
arn=$($scale register-scalable-target $of --min-capacity 2 --max-capacity 6 --tags a=b --query ScalableTargetARN --output text)
$scale put-scaling-policy $of --policy-name load --policy-type TargetTrackingScaling --query PolicyARN --output text --target-tracking-scaling-policy-configuration \
 '{"TargetValue":2,"CustomizedMetricSpecification":{"Namespace":"Pinion","MetricName":"QueueDepth","Statistic":"Average"}}' | sed 's/.*:resource/:resource/'
$scale put-scheduled-action $of --scheduled-action-name night --schedule 'cron(0 22 * * ? *)' --scalable-target-action MinCapacity=0,MaxCapacity=0
$scale describe-scalable-targets --service-namespace ecs --query 'ScalableTargets[].[ResourceId,MinCapacity,MaxCapacity]' --output text
$scale describe-scaling-policies --service-namespace ecs --query 'ScalingPolicies[].[PolicyName,TargetTrackingScalingPolicyConfiguration.TargetValue]' --output text
$scale describe-scheduled-actions --service-namespace ecs --query 'ScheduledActions[].[ScheduledActionName,Schedule]' --output text
$scale describe-scaling-activities --service-namespace ecs --query 'ScalingActivities[].Cause' --output text
$scale tag-resource --resource-arn $arn --tags c=d
$scale untag-resource --resource-arn $arn --tag-keys a
$scale list-tags-for-resource --resource-arn $arn --query Tags --output text
$scale delete-scheduled-action $of --scheduled-action-name night
$scale delete-scaling-policy $of --policy-name load
$scale deregister-scalable-target $of
$scale delete-scaling-policy $of --policy-name load-2 2>&1 | grep -o ObjectNotFoundException
aws ecs describe-services --services web --query 'services[].desiredCount' --output text`)
		want := "1\n1\n:resource/ecs/service/default/web:policyName/load\nservice/default/web\t2\t6\nload\t2\nnight\tcron(0 22 * * ? *)\n" +
			"minimum capacity was set to 2: 1 -> 2\nd\nObjectNotFoundException\n2\n"
		if err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

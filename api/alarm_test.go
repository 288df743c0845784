package api

import (
	"bytes"
	"math"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"pinion/api/cloudwatch"
	"pinion/raftfsm"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// What clients of AWS say of alarms, and of the step scaling policies that they start, by the protocol that each of them speaks.
func TestClientsOfAWSScaleAServiceByAlarms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("the AWS CLI is not on this machine: this test says nothing")
	}
	onEveryHost(t, func(t *testing.T, b *fixture, server *httptest.Server) {
		withScaledService(t, b)
		out, err := shell(t, server, `set -e
policy=$(aws application-autoscaling put-scaling-policy --service-namespace ecs --resource-id service/default/web --scalable-dimension ecs:service:DesiredCount \
 --policy-name out --policy-type StepScaling --query PolicyARN --output text --step-scaling-policy-configuration \
 'AdjustmentType=ChangeInCapacity,Cooldown=60,StepAdjustments=[{MetricIntervalLowerBound=0,ScalingAdjustment=2}]')
aws cloudwatch put-metric-alarm --alarm-name busy --alarm-actions $policy --namespace AWS/ECS --metric-name CPUUtilization --statistic Average --tags Key=a,Value=b \
 --dimensions Name=ClusterName,Value=default Name=ServiceName,Value=web --period 60 --evaluation-periods 3 --datapoints-to-alarm 2 --threshold 70 \
 --comparison-operator GreaterThanThreshold --treat-missing-data notBreaching
aws cloudwatch describe-alarms --alarm-names busy --query 'MetricAlarms[].[AlarmName,StateValue,Threshold,DatapointsToAlarm,ActionsEnabled,TreatMissingData,Dimensions[1].Value]' --output text
python3 - <<'PY'
import boto3
watch = boto3.client('cloudwatch')
alarm = watch.describe_alarms()['MetricAlarms'][0]
print(alarm['AlarmArn'], alarm['StateUpdatedTimestamp'].year)
print([a['AlarmName'] for a in watch.describe_alarms_for_metric(Namespace='AWS/ECS', MetricName='CPUUtilization', Dimensions=alarm['Dimensions'])['MetricAlarms']])
policy = boto3.client('application-autoscaling').describe_scaling_policies(ServiceNamespace='ecs')['ScalingPolicies'][0]
print(policy['PolicyType'], policy['Alarms'][0]['AlarmName'], policy['StepScalingPolicyConfiguration']['StepAdjustments'])
watch.tag_resource(ResourceARN=alarm['AlarmArn'], Tags=[{'Key': 'c', 'Value': 'd'}])
watch.untag_resource(ResourceARN=alarm['AlarmArn'], TagKeys=['a'])
print(watch.list_tags_for_resource(ResourceARN=alarm['AlarmArn'])['Tags'])
try: watch.set_alarm_state(AlarmName='busy', StateValue='OK', StateReason='r')
except watch.exceptions.ClientError as e: print(e.response['Error']['Code'], 'SetAlarmState is not supported' in str(e))
try: watch.delete_alarms(AlarmNames=['none'])
except watch.exceptions.ResourceNotFound as e: print(type(e).__name__)
watch.delete_alarms(AlarmNames=['busy'])
print(watch.describe_alarms()['MetricAlarms'])
PY`)
		want := "busy\tINSUFFICIENT_DATA\t70.0\t2\tTrue\tnotBreaching\tweb\narn:aws:cloudwatch:us-east-1:123456789012:alarm:busy 2026\n['busy']\n" +
			"StepScaling busy [{'MetricIntervalLowerBound': 0, 'ScalingAdjustment': 2}]\n[{'Key': 'c', 'Value': 'd'}]\nInvalidAction True\nResourceNotFound\n[]\n"
		if err != nil || out != want {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// withScaledService gives the pool the service web, which is a scalable target.
func withScaledService(t *testing.T, b *fixture) {
	t.Helper()
	b.mustApply(t, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Memory: 4}}}})
	least, most := 1, 6
	b.mustApply(t, raftfsm.CreateService{
		Service: service.Service{ID: "web", Cluster: spec.DefaultCluster, Name: "web", Strategy: service.Replica}, Revision: service.Revision{ID: "r", Definition: "f:1"}, Rollout: service.Rollout{ID: "r"},
	})
	b.mustApply(t, raftfsm.Wrap(scaling.ChangeTarget{Cluster: spec.DefaultCluster, Service: "web", Change: scaling.Change{Register: &scaling.Registration{Min: &least, Max: &most}}, ID: "e"}))
}

// The query protocol, which Terraform's provider 5 speaks.
func TestAlarmsInTheQueryProtocol(t *testing.T) {
	b := newFixture(t)
	post := func(parameters ...string) string {
		form := url.Values{"Version": {cloudwatch.Version}}
		for i := 0; i < len(parameters); i += 2 {
			form.Set(parameters[i], parameters[i+1])
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		got := b.serve(r)
		if kind := got.Header().Get("Content-Type"); kind != "text/xml" {
			t.Errorf("%q", kind)
		}
		return got.Body.String()
	}
	if got := post("Action", "DescribeAlarms", "AlarmNames.member.1", "busy"); !strings.Contains(got, `<DescribeAlarmsResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><DescribeAlarmsResult><MetricAlarms></MetricAlarms><CompositeAlarms></CompositeAlarms></DescribeAlarmsResult>`) {
		t.Error(got)
	}
	if got := post("Action", "PutMetricAlarm", "AlarmName", "busy", "Threshold", "x"); !strings.Contains(got, "<Code>SerializationException</Code>") || !strings.Contains(got, "Threshold must be a number") {
		t.Error(got)
	}
	if got := post("Action", "ListMetrics"); !strings.Contains(got, "<Code>InvalidAction</Code>") {
		t.Error(got)
	}
}

// RPC v2 CBOR, which the AWS SDK for Go speaks.
func TestAlarmsInCBOR(t *testing.T) {
	b := newFixture(t)
	withScaledService(t, b)
	post := func(operation string, in map[string]any) (int, map[string]any) {
		t.Helper()
		body, err := cbor.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/service/GraniteServiceVersion20100801/operation/"+operation, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/cbor")
		got := b.serve(r)
		var out map[string]any
		if err := cbor.Unmarshal(got.Body.Bytes(), &out); err != nil || got.Header().Get("Smithy-Protocol") != "rpc-v2-cbor" || got.Header().Get("Content-Type") != "application/cbor" {
			t.Errorf("%v: %v %s", err, got.Header(), got.Body)
		}
		return got.Code, out
	}
	dimensions := []map[string]string{{"Name": "ClusterName", "Value": "default"}, {"Name": "ServiceName", "Value": "web"}}
	if code, out := post("PutMetricAlarm", map[string]any{
		"AlarmName": "busy", "Namespace": "AWS/ECS", "MetricName": "MemoryUtilization", "Statistic": "Average", "Dimensions": dimensions, "Period": 60, "EvaluationPeriods": 1, "Threshold": 70.5,
		"ComparisonOperator": "LessThanThreshold", "ActionsEnabled": false,
	}); code != 200 {
		t.Fatal(code, out)
	}
	_, out := post("DescribeAlarms", map[string]any{})
	described, _ := out["MetricAlarms"].([]any)[0].(map[any]any)
	updated, _ := described["StateUpdatedTimestamp"].(time.Time)
	if described["Threshold"] != 70.5 || described["ActionsEnabled"] != false || !updated.Round(time.Millisecond).Equal(epoch.Truncate(time.Millisecond)) {
		t.Errorf("%v", described)
	}
	if code, out := post("PutMetricAlarm", map[string]any{"AlarmName": "busy", "Threshold": math.NaN()}); code != 400 || out["__type"] != "SerializationException" {
		t.Error(code, out)
	}
	if code, out := post("DeleteAlarms", map[string]any{"AlarmNames": []string{"none"}}); code != 400 || out["__type"] != "ResourceNotFound" {
		t.Error(code, out)
	}
	if code, out := post("ListMetrics", map[string]any{}); code != 400 || out["__type"] != "InvalidAction" {
		t.Error(code, out)
	}
}

package cloudwatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// fixture carries out operations on a state without Raft and without HTTP. It has the services web and vision (of the team vision) of the
// default cluster, and lab of the cluster lab, each a scalable target with the policies steps and load.
type fixture struct{ *raftfsmtest.State }

func (f fixture) Propose(_ context.Context, c raftfsm.Command) (any, error) { return f.Try(c) }

func newFixture(t *testing.T) fixture {
	f := fixture{raftfsmtest.New(t)}
	f.Do(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	f.Do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Memory: 4}}}})
	least, most := 1, 4
	for _, s := range []service.Service{
		{Name: "web", Cluster: spec.DefaultCluster, Owner: &spec.TaskOwner{Key: "AKIA1"}}, {Name: "lab", Cluster: "lab"},
		{Name: "vision", Cluster: spec.DefaultCluster, Tags: []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}},
	} {
		s.ID, s.Strategy, s.Desired = s.Name, service.Replica, 1
		f.Do(raftfsm.CreateService{Service: s, Revision: service.Revision{ID: s.Name, Definition: "f:1"}, Rollout: service.Rollout{ID: s.Name}})
		for _, c := range []scaling.Change{
			{Register: &scaling.Registration{Min: &least, Max: &most}},
			{PutPolicy: &scaling.Policy{ID: "steps-" + s.Name, Name: "steps", Step: &scaling.Stepping{Adjustment: scaling.ExactCapacity, Steps: []scaling.StepAdjustment{{Lower: "0", By: 2}}}}},
			{PutPolicy: &scaling.Policy{ID: "load-" + s.Name, Name: "load"}},
		} {
			f.Do(raftfsm.Wrap(scaling.ChangeTarget{Cluster: s.Cluster, Service: s.Name, Change: c}))
		}
	}
	return f
}

var admin = auth.Principal{ARN: "root", Role: accesskey.RoleAdmin, Region: "us-east-1"}

// as carries out an operation for a principal with the role that it needs, in JSON.
func (f fixture) as(p auth.Principal, operation, body string) (string, error) {
	found, err := Find(operation)
	if err != nil {
		return "", err
	}
	if err := p.RequireRole(found.Role, operation); err != nil {
		return "", err
	}
	r := &Request{ID: "r", Principal: p, View: f.View(), Store: f, Now: func() time.Time { return raftfsmtest.Epoch }}
	text, err := found.Run(context.Background(), r, JSON, []byte(body))
	return string(text), err
}

func (f fixture) must(t *testing.T, operation, body string) string {
	t.Helper()
	out, err := f.as(admin, operation, body)
	if err != nil {
		t.Fatalf("%s %s: %v", operation, body, err)
	}
	return out
}

func arnOf(cluster, service, policy string) string {
	return scaling.PolicyName{ID: policy + "-" + service, Cluster: cluster, Service: service, Name: policy}.ARN("us-east-1")
}

// of are members of the alarm busy of a service, with others in place of them or beside them.
func of(cluster, service string, others map[string]any) string {
	in := map[string]any{
		"AlarmName": "busy", "Namespace": "AWS/ECS", "MetricName": "CPUUtilization", "Statistic": "Average", "Period": 60, "EvaluationPeriods": 3, "Threshold": 70,
		"ComparisonOperator": "GreaterThanThreshold", "AlarmActions": []string{arnOf(cluster, service, "steps")},
		"Dimensions": []map[string]string{{"Name": "ClusterName", "Value": cluster}, {"Name": "ServiceName", "Value": service}},
	}
	for name, value := range others {
		in[name] = value
	}
	text, _ := json.Marshal(in)
	return string(text)
}

func errorType(err error) string {
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		return refusal.Type
	}
	return fmt.Sprint(err)
}

func TestAnAlarmIsDescribedWholly(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutMetricAlarm", of("default", "web", map[string]any{"AlarmDescription": "d", "DatapointsToAlarm": 2, "TreatMissingData": "ignore", "Unit": "Percent", "Tags": []tag{{"a", "b"}}}))
	want := `{"MetricAlarms":[{"AlarmName":"busy","AlarmArn":"arn:aws:cloudwatch:us-east-1:123456789012:alarm:busy","AlarmDescription":"d","AlarmConfigurationUpdatedTimestamp":1767323045.000,` +
		`"ActionsEnabled":true,"OKActions":[],"AlarmActions":["` + arnOf("default", "web", "steps") + `"],"InsufficientDataActions":[],"StateValue":"INSUFFICIENT_DATA","StateReason":"Unchecked: Initial alarm creation",` +
		`"StateUpdatedTimestamp":1767323045.000,"StateTransitionedTimestamp":1767323045.000,"MetricName":"CPUUtilization","Namespace":"AWS/ECS","Statistic":"Average",` +
		`"Dimensions":[{"Name":"ClusterName","Value":"default"},{"Name":"ServiceName","Value":"web"}],"Period":60,"Unit":"Percent","EvaluationPeriods":3,"DatapointsToAlarm":2,"Threshold":70.0,` +
		`"ComparisonOperator":"GreaterThanThreshold","TreatMissingData":"ignore"}],"CompositeAlarms":[]}`
	if got := f.must(t, "DescribeAlarms", `{"AlarmNames":["busy"]}`); got != want {
		t.Errorf("%s\n%s", got, want)
	}
	f.must(t, "PutMetricAlarm", of("default", "web", map[string]any{"ActionsEnabled": false, "Tags": []tag{{"c", "d"}}}))
	if got := f.must(t, "DescribeAlarms", `{}`); !strings.Contains(got, `"ActionsEnabled":false`) || strings.Contains(got, `"Unit"`) {
		t.Errorf("what is left out stays: %s", got)
	}
	arn := `{"ResourceARN":"arn:aws:cloudwatch:us-east-1:123456789012:alarm:busy"`
	f.must(t, "TagResource", arn+`,"Tags":[{"Key":"e","Value":"f"}]}`)
	f.must(t, "UntagResource", arn+`,"TagKeys":["c"]}`)
	if got := f.must(t, "ListTagsForResource", arn+`}`); got != `{"Tags":[{"Key":"a","Value":"b"},{"Key":"e","Value":"f"}]}` {
		t.Errorf("%s", got)
	}
	if _, err := f.as(admin, "ListTagsForResource", `{"ResourceARN":"busy"}`); errorType(err) != resourceNotFound {
		t.Error(err)
	}
}

// The service of an alarm is that of its dimensions, else that of the first policy that it starts.
func TestWhichServiceAnAlarmIsOf(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutMetricAlarm", of("lab", "lab", map[string]any{"Dimensions": []dimension{}}))
	if got := alarm.Find(f.View(), "busy"); got.Cluster != "lab" || got.Service != "lab" {
		t.Errorf("%+v", got)
	}
	f.must(t, "PutMetricAlarm", of("lab", "lab", map[string]any{"Dimensions": []dimension{{"ServiceName", "web"}, {"ClusterName", "default"}}}))
	if got := alarm.Find(f.View(), "busy"); got.Cluster != "default" || got.Service != "web" {
		t.Errorf("%+v", got)
	}
}

func TestAlarmsThatAreRefused(t *testing.T) {
	f := newFixture(t)
	topic := "arn:aws:sns:us-east-1:123456789012:topic"
	for _, c := range []struct {
		members map[string]any
		says    string
	}{
		{map[string]any{"AlarmName": ""}, "AlarmName must be"},
		{map[string]any{"AlarmName": "a\nb"}, "AlarmName must be"},
		{map[string]any{"AlarmDescription": strings.Repeat("d", 1025)}, "AlarmDescription can have"},
		{map[string]any{"AlarmActions": []string{topic}}, "AlarmActions: " + topic + " is not supported"},
		{map[string]any{"OKActions": []string{topic}}, "OKActions: " + topic + " is not supported"},
		{map[string]any{"InsufficientDataActions": []string{"arn:aws:automate:us-east-1:ec2:stop"}}, "InsufficientDataActions: arn:aws:automate:us-east-1:ec2:stop is not supported"},
		{map[string]any{"AlarmActions": []string{"", "", "", "", "", ""}}, "AlarmActions can be at most 5"},
		{map[string]any{"AlarmActions": []string{arnOf("default", "web", "load")}}, "there is no step scaling policy"},
		{map[string]any{"AlarmActions": []string{strings.Replace(arnOf("default", "web", "steps"), ":steps-web", ":other", 1)}}, "there is no step scaling policy"},
		{map[string]any{"AlarmActions": []string{arnOf("default", "none", "steps")}}, "there is no step scaling policy"},
		{map[string]any{"Threshold": nil}, "Threshold must be given"},
		{map[string]any{"ComparisonOperator": "GreaterThanUpperThreshold"}, "ComparisonOperator must be one of"},
		{map[string]any{"TreatMissingData": "never"}, "TreatMissingData must be one of"},
		{map[string]any{"Period": 45}, "Period must be"},
		{map[string]any{"Period": nil}, "Period and EvaluationPeriods must be given"},
		{map[string]any{"Period": 86400}, "Period must be"},
		{map[string]any{"EvaluationPeriods": 0}, "EvaluationPeriods of 60 seconds must be 1 to 178"},
		{map[string]any{"EvaluationPeriods": 179}, "EvaluationPeriods of 60 seconds must be 1 to 178"},
		{map[string]any{"DatapointsToAlarm": 4}, "DatapointsToAlarm must be"},
		{map[string]any{"Statistic": "SampleCount"}, "Statistic must be"},
		{map[string]any{"Statistic": "Sum"}, "Statistic Sum is of RequestCountPerTarget only"},
		{map[string]any{"ExtendedStatistic": "p99"}, "ExtendedStatistic is not supported"},
		{map[string]any{"Metrics": []any{map[string]any{"Id": "m"}}}, "Metrics is not supported"},
		{map[string]any{"ThresholdMetricId": "ad"}, "ThresholdMetricId is not supported"},
		{map[string]any{"MetricName": "DiskReadOps"}, "metrics are in the namespace Pinion"},
		{map[string]any{"Namespace": "Pinion", "MetricName": "Load"}, "there are"},
		{map[string]any{"Namespace": "AWS/ApplicationELB", "MetricName": "RequestCountPerTarget"}, "must say of which target group"},
		{map[string]any{"Namespace": "Pinion/Prometheus", "MetricName": "waiting"}, "exports metrics"},
		{map[string]any{"Dimensions": []dimension{{"InstanceId", "i-1"}}}, "the dimension InstanceId is not supported"},
		{map[string]any{"Dimensions": []dimension{{"LoadBalancer", "app/a/b"}}}, "the dimension LoadBalancer=app/a/b is not supported"},
		{map[string]any{"Dimensions": []dimension{{"ServiceName", "none"}}}, "there is no service none"},
		{map[string]any{"Dimensions": []dimension{}, "AlarmActions": []string{}}, "must say of which service"},
		{map[string]any{"Tags": []tag{{"a", "b"}, {"a", "c"}}}, "is there twice"},
	} {
		if _, err := f.as(admin, "PutMetricAlarm", of("default", "web", c.members)); errorType(err) != invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.members, err)
		}
	}
	for body, kind := range map[string]string{`{"NextToken":"%"}`: invalidNextToken, `{"MaxRecords":0}`: invalid, `{"ParentsOfAlarmName":"a"}`: invalid, `{"AlarmNames":["a"],"AlarmNamePrefix":"a"}`: invalid} {
		if _, err := f.as(admin, "DescribeAlarms", body); errorType(err) != kind {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := f.as(admin, "DeleteAlarms", `{"AlarmNames":["none"]}`); errorType(err) != notFound {
		t.Error(err)
	}
}

package autoscaling

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
)

// stepping is a step scaling policy with these step adjustments.
func stepping(adjustments, more string) string {
	return `,"PolicyName":"out","PolicyType":"StepScaling","StepScalingPolicyConfiguration":{"AdjustmentType":"PercentChangeInCapacity","StepAdjustments":[` + adjustments + `]` + more + `}`
}

const (
	twoSteps = `{"MetricIntervalLowerBound":0,"MetricIntervalUpperBound":15.5,"ScalingAdjustment":10},{"MetricIntervalLowerBound":15.5,"ScalingAdjustment":50}`
	outMore  = `,"MinAdjustmentMagnitude":2,"Cooldown":60,"MetricAggregationType":"Maximum"`
)

func TestAStepScalingPolicyIsDescribedWithItsAlarms(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("default/web", bounds))
	f.must(t, "PutScalingPolicy", of("default/web", stepping(twoSteps, outMore)))
	arn := scaling.PolicyName{ID: scaling.All(f.state.View())[0].Policy("out").ID, Cluster: "default", Service: "web", Name: "out"}.ARN("eu-1")
	for name, service := range map[string]string{"busy": "web", "other": "vision"} {
		a := alarm.Alarm{Name: name, Cluster: "default", Service: service, Actions: alarm.Actions{Alarm: []string{arn}}}
		if _, err := f.Propose(t.Context(), raftfsm.Wrap(alarm.Put{Alarm: a})); err != nil {
			t.Fatal(err)
		}
	}
	reader := admin
	reader.Grant.Teams = []string{""}
	got, err := f.as(reader, "DescribeScalingPolicies", `{"ServiceNamespace":"ecs"}`)
	want := `"PolicyName":"out","PolicyType":"StepScaling","StepScalingPolicyConfiguration":{"AdjustmentType":"PercentChangeInCapacity","StepAdjustments":[` + twoSteps + `]` + outMore + `},` +
		`"Alarms":[{"AlarmName":"busy","AlarmARN":"arn:aws:cloudwatch:us-east-1:123456789012:alarm:busy"}],`
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	f.must(t, "DeregisterScalableTarget", of("default/web", ``))
	f.must(t, "RegisterScalableTarget", of("default/web", bounds))
	if got := f.must(t, "DescribeScalingPolicies", `{"ServiceNamespace":"ecs"}`); got != `{"ScalingPolicies":[]}` {
		t.Errorf("the policy outlives its target: %s", got)
	}
}

func TestStepsThatAreRefused(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("default/web", bounds))
	for body, says := range map[string]string{
		stepping(``, ``):                               "StepAdjustments must be 1 to 20",
		stepping(`{"ScalingAdjustment":1}`, ``):        "cannot both be left out",
		stepping(`{"MetricIntervalLowerBound":0}`, ``): "ScalingAdjustment must be given",
		stepping(`{"MetricIntervalLowerBound":0,"MetricIntervalUpperBound":5,"ScalingAdjustment":1}`, ``): "MetricIntervalUpperBound 5 is positive",
		stepping(twoSteps, `,"Cooldown":-1`):                                                                  "Cooldown must be",
		stepping(twoSteps, `,"MinAdjustmentMagnitude":0`):                                                     "MinAdjustmentMagnitude must be",
		stepping(twoSteps, `,"MetricAggregationType":"p"`):                                                    "MetricAggregationType must be",
		policy + strings.TrimPrefix(stepping(twoSteps, ``), `,"PolicyName":"out","PolicyType":"StepScaling"`): "TargetTrackingScalingPolicyConfiguration must be given with PolicyType TargetTrackingScaling, and no other one",
	} {
		if _, err := f.as(admin, "PutScalingPolicy", of("default/web", body)); errorType(err) != invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

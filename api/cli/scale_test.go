package cli

import (
	"reflect"
	"strings"
	"testing"
)

// withScaling answers about the scaling of the service web.
func withScaling(t *testing.T) *fakeHost {
	h := withService(t, steady)
	for _, operation := range []string{"RegisterScalableTarget", "PutScalingPolicy", "DeregisterScalableTarget"} {
		h.operations[operation] = always(`{}`)
	}
	h.operations["DescribeScalableTargets"] = always(`{"ScalableTargets":[{"MinCapacity":1,"MaxCapacity":6}]}`)
	h.operations["DescribeScalingPolicies"] = always(`{"ScalingPolicies":[{"PolicyName":"cpu"}]}`)
	h.operations["DescribeScheduledActions"] = always(`{"ScheduledActions":[]}`)
	return h
}

func TestAServiceFollowsItsLoad(t *testing.T) {
	h := withScaling(t)
	if got := pinion(t, h, "service", "scale", "web", "--min", "1", "--max", "6", "--target", "cpu=60.5", "--in-cooldown", "2m"); got.code != 0 {
		t.Fatal(got.err)
	}
	if in := h.body(t, "RegisterScalableTarget"); in["MinCapacity"] != 1.0 || in["MaxCapacity"] != 6.0 || in["ResourceId"] != "service/default/web" {
		t.Errorf("%v", in)
	}
	want := map[string]any{"TargetValue": 60.5, "ScaleOutCooldown": 300.0, "ScaleInCooldown": 120.0,
		"CustomizedMetricSpecification": map[string]any{"Namespace": "Pinion", "MetricName": "CPUUtilization", "Statistic": "Average"}}
	if in := h.body(t, "PutScalingPolicy"); in["PolicyName"] != "cpu" || !reflect.DeepEqual(in["TargetTrackingScalingPolicyConfiguration"], want) {
		t.Errorf("%v", in)
	}
	if got := pinion(t, h, "service", "scale", "web", "--target", "prometheus/vllm:num_requests_waiting=4"); got.code != 0 {
		t.Fatal(got.err)
	}
	want = map[string]any{"Namespace": "Pinion/Prometheus", "MetricName": "vllm:num_requests_waiting", "Statistic": "Average"}
	if in := h.body(t, "PutScalingPolicy"); in["PolicyName"] != "prometheus-vllm-num_requests_waiting" || !reflect.DeepEqual(in["TargetTrackingScalingPolicyConfiguration"].(map[string]any)["CustomizedMetricSpecification"], want) {
		t.Errorf("%v", in)
	}
	got := pinion(t, h, "service", "inspect", "web")
	if got.code != 0 || !strings.Contains(strings.Join(strings.Fields(got.out), ""), `"scaling":{"target":{"MinCapacity":1,"MaxCapacity":6},"policies":[{"PolicyName":"cpu"}],"scheduledActions":[]}`) {
		t.Errorf("%s %s", got.out, got.err)
	}
	if got := pinion(t, h, "service", "scale", "web", "--fixed"); got.code != 0 || h.callCount("DeregisterScalableTarget") != 1 {
		t.Error(got.err)
	}
}

func TestWhatCannotBeFollowed(t *testing.T) {
	h := withScaling(t)
	for arguments, says := range map[string]string{
		"web --target load=3": "there are cpu, gpu, memory, queue-depth, requests, requests-per-minute and prometheus/NAME",
		"web --target cpu=0":  "a value is more than 0",
		"web --target cpu":    "is not METRIC=VALUE",
		"web=3 --min 1":       "name one service, without a number",
		"web api --min 1":     "name one service, without a number",
		"web --fixed --max 3": "give --fixed, or --min",
	} {
		if got := pinion(t, h, append([]string{"service", "scale"}, strings.Fields(arguments)...)...); got.code == 0 || !strings.Contains(got.err, says) {
			t.Errorf("%s: %d %s", arguments, got.code, got.err)
		}
	}
	if h.callCount("RegisterScalableTarget") != 0 {
		t.Error("something was registered")
	}
}

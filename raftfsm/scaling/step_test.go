package scaling

import (
	"strings"
	"testing"
)

func steps(all ...StepAdjustment) Stepping {
	return Stepping{Adjustment: ChangeInCapacity, Steps: all}
}

func TestStepsLeaveNothingOpen(t *testing.T) {
	percent := steps(StepAdjustment{Lower: "0", By: 5})
	percent.Adjustment, percent.MinMagnitude = PercentChangeInCapacity, 2
	magnitude, exact, other, aggregated := percent, steps(StepAdjustment{Lower: "0", By: -1}), percent, percent
	magnitude.Adjustment, exact.Adjustment, other.Adjustment, aggregated.Aggregation = ChangeInCapacity, ExactCapacity, "Double", "Sum"
	for name, c := range map[string]struct {
		s    Stepping
		says string
	}{
		"one above":               {steps(StepAdjustment{Lower: "0", By: 1}), ""},
		"two below, in any order": {steps(StepAdjustment{Lower: "-10.5", Upper: "0", By: -1}, StepAdjustment{Upper: "-10.5", By: -2}), ""},
		"below and above":         {steps(StepAdjustment{Upper: "0", By: -1}, StepAdjustment{Lower: "0", Upper: "5", By: 1}, StepAdjustment{Lower: "5", By: 2}), ""},
		"percent":                 {percent, ""},
		"none":                    {steps(), "StepAdjustments must be 1 to 20"},
		"without bounds":          {steps(StepAdjustment{By: 1}), "cannot both be left out"},
		"upside down":             {steps(StepAdjustment{Lower: "5", Upper: "5", By: 1}), "must be more than"},
		"a gap":                   {steps(StepAdjustment{Lower: "0", Upper: "5", By: 1}, StepAdjustment{Lower: "6", By: 2}), "must not have a gap, such as from 5 to 6"},
		"an overlap":              {steps(StepAdjustment{Lower: "0", Upper: "5", By: 1}, StepAdjustment{Lower: "4", By: 2}), "must not overlap"},
		"two without end":         {steps(StepAdjustment{Lower: "0", By: 1}, StepAdjustment{Lower: "4", By: 2}), "must not overlap"},
		"an end below":            {steps(StepAdjustment{Lower: "-5", Upper: "0", By: -1}), "MetricIntervalLowerBound -5 is negative"},
		"an end above":            {steps(StepAdjustment{Lower: "0", Upper: "5", By: 1}), "MetricIntervalUpperBound 5 is positive"},
		"a magnitude of tasks":    {magnitude, "MinAdjustmentMagnitude"},
		"fewer than none":         {exact, "must not be negative"},
		"another adjustment":      {other, "AdjustmentType must be"},
		"another aggregation":     {aggregated, "MetricAggregationType must be"},
	} {
		err := c.s.Check()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A bound belongs to the step that is further from the threshold; the threshold itself to what the alarm is about.
func TestWhichStepADistanceTakes(t *testing.T) {
	s := steps(StepAdjustment{Upper: "-10", By: -2}, StepAdjustment{Lower: "-10", Upper: "0", By: -1}, StepAdjustment{Lower: "0", Upper: "10", By: 1}, StepAdjustment{Lower: "10", By: 2})
	for _, c := range []struct {
		distance float64
		above    bool
		to       int
	}{{-11, false, 3}, {-10, false, 3}, {-9, false, 4}, {0, false, 4}, {0, true, 6}, {9, true, 6}, {10, true, 7}, {11, true, 7}} {
		if to, _, ok := s.Capacity(5, c.distance, c.above); !ok || to != c.to {
			t.Errorf("%v, above %v: %d %v", c.distance, c.above, to, ok)
		}
	}
	if _, _, ok := (&Stepping{Steps: s.Steps[2:]}).Capacity(5, -1, false); ok {
		t.Error("there is a step for what has none")
	}
}

// Percents are rounded towards 0, but change something.
func TestPercentsOfTasks(t *testing.T) {
	for _, c := range []struct{ from, by, least, to int }{{4, 25, 2, 6}, {10, 25, 0, 12}, {2, 10, 0, 3}, {10, -25, 0, 8}, {2, -10, 0, 1}, {1, -100, 5, 0}, {4, 0, 0, 4}, {0, 50, 0, 1}} {
		s := Stepping{Adjustment: PercentChangeInCapacity, Steps: []StepAdjustment{{Lower: "0", By: c.by}}, MinMagnitude: c.least}
		if to, _, _ := s.Capacity(c.from, 1, true); to != c.to {
			t.Errorf("%+v: %d", c, to)
		}
	}
	s := Stepping{Adjustment: ExactCapacity, Steps: []StepAdjustment{{Lower: "0", By: 3}}}
	if to, _, _ := s.Capacity(9, 1, true); to != 3 {
		t.Errorf("exactly %d", to)
	}
}

func TestTheARNOfAPolicy(t *testing.T) {
	name := PolicyName{ID: "1-2", Cluster: "default", Service: "web", Name: "out"}
	arn := name.ARN("us-east-1")
	if want := "arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:1-2:resource/ecs/service/default/web:policyName/out"; arn != want {
		t.Error(arn)
	}
	if got, ok := ParsePolicyARN(arn); !ok || got != name {
		t.Errorf("%+v", got)
	}
	for _, other := range []string{"", "out", "arn:aws:sns:us-east-1:123456789012:topic", strings.Replace(arn, "123456789012", "1", 1), strings.Replace(arn, "/web", "", 1), strings.Replace(arn, "/out", "/", 1)} {
		if got, ok := ParsePolicyARN(other); ok {
			t.Errorf("%q: %+v", other, got)
		}
	}
}

package cloudwatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"pinion/api/autoscaling"
	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/spec"
)

type dimension struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

type tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

type putAlarmInput struct {
	AlarmName               string      `json:"AlarmName"`
	AlarmDescription        string      `json:"AlarmDescription"`
	ActionsEnabled          *bool       `json:"ActionsEnabled"`
	OKActions               []string    `json:"OKActions"`
	AlarmActions            []string    `json:"AlarmActions"`
	InsufficientDataActions []string    `json:"InsufficientDataActions"`
	MetricName              string      `json:"MetricName"`
	Namespace               string      `json:"Namespace"`
	Statistic               string      `json:"Statistic"`
	Dimensions              []dimension `json:"Dimensions"`
	Period                  *int        `json:"Period"`
	Unit                    string      `json:"Unit"`
	EvaluationPeriods       *int        `json:"EvaluationPeriods"`
	DatapointsToAlarm       *int        `json:"DatapointsToAlarm"`
	Threshold               *float64    `json:"Threshold"`
	ComparisonOperator      string      `json:"ComparisonOperator"`
	TreatMissingData        string      `json:"TreatMissingData"`
	Tags                    []tag       `json:"Tags"`

	ExtendedStatistic  wire.Unsupported `json:"ExtendedStatistic" why:"use Statistic Average, Minimum or Maximum"`
	Percentile         wire.Unsupported `json:"EvaluateLowSampleCountPercentile" why:"there are no percentiles"`
	Metrics            wire.Unsupported `json:"Metrics" why:"name one metric with MetricName and Namespace"`
	ThresholdMetricID  wire.Unsupported `json:"ThresholdMetricId" why:"there is no anomaly detection: give a Threshold"`
	EvaluationCriteria wire.Unsupported `json:"EvaluationCriteria" why:"name one metric with MetricName and Namespace"`
	EvaluationInterval wire.Unsupported `json:"EvaluationInterval" why:"an alarm is evaluated each minute, or each Period that is shorter"`
}

// Bounds of an alarm's texts and actions, AWS's.
const (
	maxName        = 255
	maxDescription = 1024
	maxActions     = 5 // of a state
	maxDimensions  = 30
	maxText        = 1024
)

// putMetricAlarm creates an alarm, or configures the one of the name anew; then its tags stay.
func (r *Request) putMetricAlarm(ctx context.Context, in *putAlarmInput) (*emptyOutput, error) {
	a, err := in.parse()
	if err != nil {
		return nil, err
	}
	a.ConfiguredAt = r.Now()
	a.State = alarm.State{Value: alarm.InsufficientData, Reason: "Unchecked: Initial alarm creation", At: a.ConfiguredAt}
	first, err := r.checkActions(in)
	if err != nil {
		return nil, err
	}
	if err := r.resolveService(a, first); err != nil {
		return nil, err
	}
	put := alarm.Put{Alarm: *a}
	if known := alarm.Find(r.View, a.Name); known != nil && (known.Cluster != a.Cluster || known.Service != a.Service) {
		if err := r.mayChange(known); err != nil {
			return nil, err
		}
		put.Over = known.ConfiguredAt
	}
	_, err = r.Store.Propose(ctx, raftfsm.Wrap(put))
	switch {
	case errors.Is(err, spec.ErrLimit):
		return nil, wire.Errorf(limitExceeded, "%v.", err)
	case errors.Is(err, alarm.ErrOthers): // since it was looked up
		return nil, wire.Errorf(concurrentChange, "%v.", err)
	}
	return &emptyOutput{}, err
}

// parse checks what can be told without the state.
func (in *putAlarmInput) parse() (*alarm.Alarm, error) {
	if n := len(in.AlarmName); n == 0 || n > maxName || strings.ContainsFunc(in.AlarmName, unicode.IsControl) {
		return nil, errInvalid("AlarmName must be 1 to %d bytes without control characters", maxName)
	}
	if len(in.AlarmDescription) > maxDescription {
		return nil, errInvalid("AlarmDescription can have at most %d bytes", maxDescription)
	}
	a := &alarm.Alarm{
		Name: in.AlarmName, Description: in.AlarmDescription, Disabled: in.ActionsEnabled != nil && !*in.ActionsEnabled, Comparison: alarm.Comparison(in.ComparisonOperator), Missing: alarm.Missing(in.TreatMissingData),
		Actions: alarm.Actions{OK: in.OKActions, Alarm: in.AlarmActions, InsufficientData: in.InsufficientDataActions},
		Metric:  scaling.Metric{Namespace: in.Namespace, Name: in.MetricName, Statistic: in.Statistic, Unit: in.Unit},
	}
	for _, given := range in.Tags {
		a.Tags = append(a.Tags, spec.Tag(given))
	}
	if a.Tags != nil {
		if err := call.WithType(invalid, tags.Check(a.Tags)); err != nil {
			return nil, err
		}
	}
	if in.Threshold == nil || !slices.Contains(alarm.Comparisons(), a.Comparison) {
		return nil, errInvalid("Threshold must be given, and ComparisonOperator must be one of %v, not %q", alarm.Comparisons(), in.ComparisonOperator)
	}
	a.Threshold = scaling.NumberOf(*in.Threshold)
	if a.Missing != "" && !slices.Contains(alarm.Missings(), a.Missing) {
		return nil, errInvalid("TreatMissingData must be one of %v, not %q", alarm.Missings(), in.TreatMissingData)
	}
	if err := in.parsePeriods(a); err != nil {
		return nil, err
	}
	return a, in.parseMetric(a)
}

func (in *putAlarmInput) parsePeriods(a *alarm.Alarm) error {
	if in.Period == nil || in.EvaluationPeriods == nil {
		return errInvalid("Period and EvaluationPeriods must be given")
	}
	a.Period, a.Periods = *in.Period, *in.EvaluationPeriods
	if p := a.Period; p <= 0 || p > int(alarm.MaxSpan/time.Second) || p != 10 && p != 20 && p != 30 && p%60 != 0 {
		return errInvalid("Period must be 10, 20, 30 or a multiple of 60 seconds, at most %d, not %d", int(alarm.MaxSpan/time.Second), p)
	}
	if most := int(alarm.MaxSpan/a.Length()) - alarm.BeyondPeriods; a.Periods < 1 || a.Periods > most {
		return errInvalid("EvaluationPeriods of %d seconds must be 1 to %d, not %d: metrics are kept for %v, and an alarm looks at %d periods more than its own", a.Period, most, a.Periods, alarm.MaxSpan, alarm.BeyondPeriods)
	}
	if in.DatapointsToAlarm != nil {
		if a.Datapoints = *in.DatapointsToAlarm; a.Datapoints < 1 || a.Datapoints > a.Periods {
			return errInvalid("DatapointsToAlarm must be 1 to EvaluationPeriods, which is %d, not %d", a.Periods, a.Datapoints)
		}
	}
	return nil
}

// parseMetric checks that the metric is one that is measured.
func (in *putAlarmInput) parseMetric(a *alarm.Alarm) error {
	if len(in.Dimensions) > maxDimensions || len(in.Unit) > maxText {
		return errInvalid("Dimensions can be at most %d, and Unit can have %d bytes", maxDimensions, maxText)
	}
	for _, d := range in.Dimensions {
		if len(d.Name) > maxText || len(d.Value) > maxText {
			return errInvalid("the name and the value of a dimension can have %d bytes", maxText)
		}
		a.Metric.Dimensions = append(a.Metric.Dimensions, scaling.Dimension(d))
	}
	source, err := a.Metric.Source()
	if err != nil {
		return errInvalid("%v", err)
	}
	switch in.Statistic {
	case "Average", "Minimum", "Maximum":
	case "Sum":
		if !source.OfRequests() {
			return errInvalid("Statistic Sum is of RequestCountPerTarget only: use Average, Minimum or Maximum of %s", in.MetricName)
		}
	default:
		return errInvalid("Statistic must be Average, Minimum or Maximum, or Sum of RequestCountPerTarget, not %q", in.Statistic)
	}
	if a.Metric.Namespace == scaling.NamespaceELB && source.Part() == "" {
		return errInvalid("the dimension %s must say of which target group, as targetgroup/NAME/ID", scaling.DimensionGroup)
	}
	return nil
}

// checkActions checks that each action is a step scaling policy of a service that the caller may scale, and returns the first one.
func (r *Request) checkActions(in *putAlarmInput) (first scaling.PolicyName, err error) {
	for _, list := range []struct {
		member string
		arns   []string
	}{{"AlarmActions", in.AlarmActions}, {"OKActions", in.OKActions}, {"InsufficientDataActions", in.InsufficientDataActions}} {
		if len(list.arns) > maxActions {
			return first, errInvalid("%s can be at most %d", list.member, maxActions)
		}
		for _, arn := range list.arns {
			name, ok := scaling.ParsePolicyARN(arn)
			if !ok || len(arn) > maxText {
				return first, errInvalid("%s: %.300s is not supported by Pinion: an alarm here starts step scaling policies, by the PolicyARN that application-autoscaling PutScalingPolicy returns, and nothing else", list.member, arn)
			}
			if err := r.checkPolicy(list.member, arn, name); err != nil {
				return first, err
			}
			if first.ID == "" {
				first = name
			}
		}
	}
	return first, nil
}

func (r *Request) checkPolicy(member, arn string, name scaling.PolicyName) error {
	s, err := autoscaling.Scalable(r.Principal, r.View, name.Cluster, name.Service)
	if err != nil {
		return err
	}
	if s != nil {
		if target := scaling.Find(r.View, s.ID); target != nil {
			if p := target.Policy(name.Name); p != nil && p.ID == name.ID && p.Step != nil {
				return nil
			}
		}
	}
	return errInvalid("%s: there is no step scaling policy %.300s", member, arn)
}

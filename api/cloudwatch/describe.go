package cloudwatch

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
)

// Bounds of a list, AWS's.
const (
	maxNames  = 100
	maxListed = 100
	usual     = 50
)

type describeAlarmsInput struct {
	AlarmNames          []string         `json:"AlarmNames"`
	AlarmNamePrefix     string           `json:"AlarmNamePrefix"`
	AlarmTypes          []string         `json:"AlarmTypes"`
	StateValue          string           `json:"StateValue"`
	ActionPrefix        string           `json:"ActionPrefix"`
	MaxRecords          *int             `json:"MaxRecords"`
	NextToken           string           `json:"NextToken"`
	ChildrenOfAlarmName wire.Unsupported `json:"ChildrenOfAlarmName" why:"there are no composite alarms"`
	ParentsOfAlarmName  wire.Unsupported `json:"ParentsOfAlarmName" why:"there are no composite alarms"`
}

// metricAlarm is an alarm as clients see it, the same in JSON and XML.
type metricAlarm struct {
	AlarmName                          string            `json:"AlarmName"`
	AlarmArn                           string            `json:"AlarmArn"`
	AlarmDescription                   string            `json:"AlarmDescription,omitempty" xml:",omitempty"`
	AlarmConfigurationUpdatedTimestamp timestamp         `json:"AlarmConfigurationUpdatedTimestamp"`
	ActionsEnabled                     bool              `json:"ActionsEnabled"`
	OKActions                          []string          `json:"OKActions" xml:"OKActions>member"`
	AlarmActions                       []string          `json:"AlarmActions" xml:"AlarmActions>member"`
	InsufficientDataActions            []string          `json:"InsufficientDataActions" xml:"InsufficientDataActions>member"`
	StateValue                         alarm.Value       `json:"StateValue"`
	StateReason                        string            `json:"StateReason"`
	StateUpdatedTimestamp              timestamp         `json:"StateUpdatedTimestamp"`
	StateTransitionedTimestamp         timestamp         `json:"StateTransitionedTimestamp"`
	MetricName                         string            `json:"MetricName"`
	Namespace                          string            `json:"Namespace"`
	Statistic                          string            `json:"Statistic"`
	Dimensions                         []metricDimension `json:"Dimensions" xml:"Dimensions>member"`
	Period                             int               `json:"Period"`
	Unit                               string            `json:"Unit,omitempty" xml:",omitempty"`
	EvaluationPeriods                  int               `json:"EvaluationPeriods"`
	DatapointsToAlarm                  int               `json:"DatapointsToAlarm,omitempty" xml:",omitempty"`
	Threshold                          wire.Double       `json:"Threshold"`
	ComparisonOperator                 alarm.Comparison  `json:"ComparisonOperator"`
	TreatMissingData                   alarm.Missing     `json:"TreatMissingData,omitempty" xml:",omitempty"`
}

type metricDimension struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

type describeAlarmsOutput struct {
	MetricAlarms    []metricAlarm `json:"MetricAlarms" xml:"MetricAlarms>member"`
	CompositeAlarms []struct{}    `json:"CompositeAlarms" xml:"CompositeAlarms>member"` // there are none
	NextToken       string        `json:"NextToken,omitempty" xml:",omitempty"`
}

// describeAlarms lists alarms by name.
func (r *Request) describeAlarms(_ context.Context, in *describeAlarmsInput) (*describeAlarmsOutput, error) {
	size := usual
	if in.MaxRecords != nil {
		if size = *in.MaxRecords; size < 1 || size > maxListed {
			return nil, errInvalid("MaxRecords must be 1 to %d, not %d", maxListed, size)
		}
	}
	if len(in.AlarmTypes) > maxNames {
		return nil, errInvalid("AlarmTypes can be at most %d", maxNames)
	}
	if len(in.AlarmNames) > maxNames || len(in.AlarmNames) > 0 && in.AlarmNamePrefix != "" {
		return nil, errInvalid("AlarmNames can be at most %d, and come without AlarmNamePrefix", maxNames)
	}
	after, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	if err != nil {
		return nil, wire.Errorf(invalidNextToken, "NextToken is not one that this operation gave out")
	}
	out := &describeAlarmsOutput{MetricAlarms: []metricAlarm{}, CompositeAlarms: []struct{}{}}
	for _, a := range alarm.All(r.View) {
		if a.Name <= string(after) || !in.wants(a) || !r.sees(a) {
			continue
		}
		if n := len(out.MetricAlarms); n == size {
			out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(out.MetricAlarms[n-1].AlarmName))
			break
		}
		out.MetricAlarms = append(out.MetricAlarms, r.describe(a))
	}
	return out, nil
}

func (in *describeAlarmsInput) wants(a *alarm.Alarm) bool {
	return (len(in.AlarmNames) == 0 || slices.Contains(in.AlarmNames, a.Name)) && strings.HasPrefix(a.Name, in.AlarmNamePrefix) &&
		(len(in.AlarmTypes) == 0 || slices.Contains(in.AlarmTypes, "MetricAlarm")) && (in.StateValue == "" || alarm.Value(in.StateValue) == a.State.Value) &&
		(in.ActionPrefix == "" || slices.ContainsFunc(a.Actions.All(), func(arn string) bool { return strings.HasPrefix(arn, in.ActionPrefix) }))
}

func (r *Request) describe(a *alarm.Alarm) metricAlarm {
	m := metricAlarm{
		AlarmName: a.Name, AlarmArn: a.ARN(r.Principal.Region), AlarmDescription: a.Description, AlarmConfigurationUpdatedTimestamp: at(a.ConfiguredAt), ActionsEnabled: !a.Disabled,
		OKActions: list(a.Actions.OK), AlarmActions: list(a.Actions.Alarm), InsufficientDataActions: list(a.Actions.InsufficientData),
		StateValue: a.State.Value, StateReason: a.State.Reason, StateUpdatedTimestamp: at(a.State.At), StateTransitionedTimestamp: at(a.State.At),
		MetricName: a.Metric.Name, Namespace: a.Metric.Namespace, Statistic: a.Metric.Statistic, Dimensions: []metricDimension{}, Period: a.Period, Unit: a.Metric.Unit,
		EvaluationPeriods: a.Periods, DatapointsToAlarm: a.Datapoints, Threshold: wire.Double(a.Threshold.Float()), ComparisonOperator: a.Comparison, TreatMissingData: a.Missing,
	}
	for _, d := range a.Metric.Dimensions {
		m.Dimensions = append(m.Dimensions, metricDimension(d))
	}
	return m
}

// list is never nil, which JSON would write as null.
func list(all []string) []string { return append([]string{}, all...) }

type forMetricInput struct {
	MetricName        string           `json:"MetricName"`
	Namespace         string           `json:"Namespace"`
	Statistic         string           `json:"Statistic"`
	Dimensions        []dimension      `json:"Dimensions"`
	Period            *int             `json:"Period"`
	Unit              string           `json:"Unit"`
	ExtendedStatistic wire.Unsupported `json:"ExtendedStatistic" why:"there are no percentiles"`
}

type forMetricOutput struct {
	MetricAlarms []metricAlarm `json:"MetricAlarms" xml:"MetricAlarms>member"`
}

// describeAlarmsForMetric lists the alarms of a metric with exactly these dimensions.
func (r *Request) describeAlarmsForMetric(_ context.Context, in *forMetricInput) (*forMetricOutput, error) {
	if in.MetricName == "" || in.Namespace == "" {
		return nil, errInvalid("MetricName and Namespace must be given")
	}
	out := &forMetricOutput{MetricAlarms: []metricAlarm{}}
	for _, a := range alarm.All(r.View) {
		m := &a.Metric
		same := m.Name == in.MetricName && m.Namespace == in.Namespace && len(m.Dimensions) == len(in.Dimensions) &&
			!slices.ContainsFunc(in.Dimensions, func(d dimension) bool { return !slices.Contains(m.Dimensions, scaling.Dimension(d)) })
		if same && (in.Statistic == "" || in.Statistic == m.Statistic) && (in.Unit == "" || in.Unit == m.Unit) && (in.Period == nil || *in.Period == a.Period) && r.sees(a) {
			out.MetricAlarms = append(out.MetricAlarms, r.describe(a))
		}
	}
	return out, nil
}

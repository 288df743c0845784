package autoscaling

import (
	"context"
	"slices"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/scaling"
)

// The types of policies here.
const (
	targetTracking = "TargetTrackingScaling"
	stepScaling    = "StepScaling"
)

type dimensionOfMetric struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

type predefinedMetric struct {
	PredefinedMetricType string `json:"PredefinedMetricType"`
	ResourceLabel        string `json:"ResourceLabel,omitempty"`
}

type customizedMetric struct {
	MetricName string              `json:"MetricName,omitempty"`
	Namespace  string              `json:"Namespace,omitempty"`
	Dimensions []dimensionOfMetric `json:"Dimensions,omitempty"`
	Statistic  string              `json:"Statistic,omitempty"`
	Unit       string              `json:"Unit,omitempty"`
	Metrics    wire.Unsupported    `json:"Metrics,omitzero" why:"name one metric with MetricName and Namespace"`
}

type trackingConfiguration struct {
	TargetValue      *float64          `json:"TargetValue"`
	Predefined       *predefinedMetric `json:"PredefinedMetricSpecification,omitempty"`
	Customized       *customizedMetric `json:"CustomizedMetricSpecification,omitempty"`
	ScaleOutCooldown *int              `json:"ScaleOutCooldown,omitempty"`
	ScaleInCooldown  *int              `json:"ScaleInCooldown,omitempty"`
	DisableScaleIn   bool              `json:"DisableScaleIn"`
}

type putPolicyInput struct {
	resource
	PolicyName string                 `json:"PolicyName"`
	PolicyType string                 `json:"PolicyType"`
	Tracking   *trackingConfiguration `json:"TargetTrackingScalingPolicyConfiguration"`
	Step       *stepConfiguration     `json:"StepScalingPolicyConfiguration"`
	Predictive wire.Unsupported       `json:"PredictiveScalingPolicyConfiguration" why:"use PolicyType TargetTrackingScaling or StepScaling, or scheduled actions"`
}

type putPolicyOutput struct {
	PolicyARN string       `json:"PolicyARN"`
	Alarms    []namedAlarm `json:"Alarms"`
}

// namedAlarm is an alarm that starts a step scaling policy. Target tracking follows its metric without alarms.
type namedAlarm struct {
	AlarmName string `json:"AlarmName"`
	AlarmARN  string `json:"AlarmARN"`
}

// Bounds of what a policy says; those of names and cooldowns are AWS's or wider.
const (
	maxName       = 256
	maxCooldown   = 7 * 24 * 60 * 60
	maxDimensions = 30
	maxMetricText = 1023
)

// putScalingPolicy makes a policy, or changes the one of that name.
func (r *Request) putScalingPolicy(ctx context.Context, in *putPolicyInput) (*putPolicyOutput, error) {
	if err := checkName("PolicyName", in.PolicyName); err != nil {
		return nil, err
	}
	policy, err := in.policy()
	if err != nil {
		return nil, err
	}
	if policy.Step == nil {
		if err := r.checkMetric(&in.resource, &policy.Tracking.Metric); err != nil {
			return nil, err
		}
	}
	policy.ID, policy.Name, policy.CreatedAt = httpx.NewUUID(), in.PolicyName, r.Now()
	target, err := r.change(ctx, &in.resource, scaling.Change{PutPolicy: policy})
	if err != nil {
		return nil, err
	}
	known := target.Policy(in.PolicyName)
	return &putPolicyOutput{PolicyARN: r.policyARN(target, known), Alarms: append([]namedAlarm{}, r.alarms()[known.ID]...)}, nil
}

// policy checks the configuration of the type.
func (in *putPolicyInput) policy() (*scaling.Policy, error) {
	switch {
	case in.PolicyType != targetTracking && in.PolicyType != stepScaling:
		return nil, errInvalid("PolicyType must be %s or %s, not %q", targetTracking, stepScaling, in.PolicyType)
	case in.PolicyType == stepScaling && (in.Step == nil || in.Tracking != nil):
		return nil, errInvalid("StepScalingPolicyConfiguration must be given with PolicyType %s, and no other one", stepScaling)
	case in.PolicyType == stepScaling:
		step, err := in.Step.parse()
		return &scaling.Policy{Step: step}, err
	case in.Tracking == nil || in.Step != nil:
		return nil, errInvalid("TargetTrackingScalingPolicyConfiguration must be given with PolicyType %s, and no other one", targetTracking)
	}
	tracking, err := in.Tracking.parse()
	if err != nil {
		return nil, err
	}
	return &scaling.Policy{Tracking: *tracking}, nil
}

// parse checks a configuration.
func (c *trackingConfiguration) parse() (*scaling.Tracking, error) {
	if c.TargetValue == nil || *c.TargetValue <= 0 {
		return nil, errInvalid("TargetValue must be given and more than 0")
	}
	for _, seconds := range []*int{c.ScaleOutCooldown, c.ScaleInCooldown} {
		if seconds != nil && (*seconds < 0 || *seconds > maxCooldown) {
			return nil, errInvalid("a cooldown must be 0 to %d seconds, not %d", maxCooldown, *seconds)
		}
	}
	metric, err := c.metric()
	if err != nil {
		return nil, err
	}
	return &scaling.Tracking{Target: scaling.NumberOf(*c.TargetValue), Metric: metric, OutCooldown: c.ScaleOutCooldown, InCooldown: c.ScaleInCooldown, NoScaleIn: c.DisableScaleIn}, nil
}

// metric is the metric that the configuration names, which has to be one that is measured.
func (c *trackingConfiguration) metric() (m scaling.Metric, err error) {
	if (c.Predefined == nil) == (c.Customized == nil) {
		return m, errInvalid("One of PredefinedMetricSpecification and CustomizedMetricSpecification must be given")
	}
	if c.Predefined != nil {
		m = scaling.Metric{Predefined: c.Predefined.PredefinedMetricType, Label: c.Predefined.ResourceLabel}
	} else {
		m = scaling.Metric{Namespace: c.Customized.Namespace, Name: c.Customized.MetricName, Statistic: c.Customized.Statistic, Unit: c.Customized.Unit}
		for _, d := range c.Customized.Dimensions {
			m.Dimensions = append(m.Dimensions, scaling.Dimension(d))
		}
	}
	if len(m.Dimensions) > maxDimensions || slices.ContainsFunc(m.Dimensions, func(d scaling.Dimension) bool { return len(d.Name)+len(d.Value) > maxMetricText }) {
		return m, errInvalid("Dimensions can have at most %d items of %d characters", maxDimensions, maxMetricText)
	}
	if len(m.Label)+len(m.Name)+len(m.Statistic)+len(m.Unit) > maxMetricText {
		return m, errInvalid("what names a metric can have at most %d characters", maxMetricText)
	}
	if _, err := m.Source(); err != nil {
		return m, errInvalid("%v", err)
	}
	return m, nil
}

// checkName checks the name of a policy or of a scheduled action.
func checkName(member, name string) error {
	if name == "" || len(name) > maxName || slices.ContainsFunc([]rune(name), func(c rune) bool { return c < ' ' || c == '|' || c == ':' || c == '/' }) {
		return errInvalid("%s must be 1 to %d characters, none of them a control character, | : or /", member, maxName)
	}
	return nil
}

type deletePolicyInput struct {
	resource
	PolicyName string `json:"PolicyName"`
}

func (r *Request) deleteScalingPolicy(ctx context.Context, in *deletePolicyInput) (*emptyOutput, error) {
	if err := checkName("PolicyName", in.PolicyName); err != nil {
		return nil, err
	}
	_, err := r.change(ctx, &in.resource, scaling.Change{DeletePolicy: in.PolicyName})
	return &emptyOutput{}, err
}

type describePoliciesInput struct {
	describeInput
	PolicyNames []string `json:"PolicyNames"`
}

type scalingPolicy struct {
	named
	PolicyARN    string                 `json:"PolicyARN"`
	PolicyName   string                 `json:"PolicyName"`
	PolicyType   string                 `json:"PolicyType"`
	Tracking     *trackingConfiguration `json:"TargetTrackingScalingPolicyConfiguration,omitempty"`
	Step         *stepConfiguration     `json:"StepScalingPolicyConfiguration,omitempty"`
	Alarms       []namedAlarm           `json:"Alarms"`
	CreationTime wire.Time              `json:"CreationTime"`
}

type describePoliciesOutput struct {
	ScalingPolicies []scalingPolicy `json:"ScalingPolicies"`
	NextToken       string          `json:"NextToken,omitempty"`
}

func (r *Request) describeScalingPolicies(_ context.Context, in *describePoliciesInput) (*describePoliciesOutput, error) {
	targets, err := in.of(r)
	if err != nil {
		return nil, err
	}
	all, alarms := []scalingPolicy{}, r.alarms()
	for _, t := range targets {
		for i := range t.Policies {
			if p := &t.Policies[i]; wanted(in.PolicyNames, p.Name) {
				all = append(all, r.describePolicy(t, p, alarms[p.ID]))
			}
		}
	}
	page, next, err := in.cut(len(all), func(i int) string { return all[i].ResourceID + "\x00" + all[i].PolicyName })
	if err != nil {
		return nil, err
	}
	return &describePoliciesOutput{all[page.from:page.to], next}, nil
}

func (r *Request) describePolicy(t *scaling.Target, p *scaling.Policy, alarms []namedAlarm) scalingPolicy {
	out := scalingPolicy{named: nameOf(t), PolicyARN: r.policyARN(t, p), PolicyName: p.Name, PolicyType: targetTracking, Alarms: append([]namedAlarm{}, alarms...), CreationTime: wire.NewTime(p.CreatedAt)}
	if p.Step != nil {
		out.PolicyType, out.Step = stepScaling, describeStep(p.Step)
	} else {
		out.Tracking = describeTracking(&p.Tracking)
	}
	return out
}

func describeTracking(t *scaling.Tracking) *trackingConfiguration {
	value := t.Target.Float()
	c := &trackingConfiguration{TargetValue: &value, ScaleOutCooldown: t.OutCooldown, ScaleInCooldown: t.InCooldown, DisableScaleIn: t.NoScaleIn}
	if m := t.Metric; m.Predefined != "" {
		c.Predefined = &predefinedMetric{m.Predefined, m.Label}
	} else {
		c.Customized = &customizedMetric{MetricName: m.Name, Namespace: m.Namespace, Statistic: m.Statistic, Unit: m.Unit}
		for _, d := range m.Dimensions {
			c.Customized.Dimensions = append(c.Customized.Dimensions, dimensionOfMetric(d))
		}
	}
	return c
}

func (r *Request) policyARN(t *scaling.Target, p *scaling.Policy) string {
	return scaling.PolicyName{ID: p.ID, Cluster: t.Cluster, Service: t.Service, Name: p.Name}.ARN(r.Principal.Region)
}

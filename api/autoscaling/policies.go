package autoscaling

import (
	"context"
	"slices"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/spec"
)

// targetTracking is the one type of policies here.
const targetTracking = "TargetTrackingScaling"

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
	Step       wire.Unsupported       `json:"StepScalingPolicyConfiguration" why:"a CloudWatch alarm would have to start it, and there are none: use PolicyType TargetTrackingScaling"`
	Predictive wire.Unsupported       `json:"PredictiveScalingPolicyConfiguration" why:"use PolicyType TargetTrackingScaling, or scheduled actions"`
}

type putPolicyOutput struct {
	PolicyARN string  `json:"PolicyARN"`
	Alarms    []alarm `json:"Alarms"`
}

// alarm is there for the shape: policies follow their metrics without alarms.
type alarm struct{}

// Bounds of what a policy says; those of names and cooldowns are AWS's or wider.
const (
	maxName       = 256
	maxCooldown   = 7 * 24 * 60 * 60
	maxDimensions = 30
	maxMetricText = 1023
)

// putScalingPolicy makes a policy, or changes the one of that name.
func (r *Request) putScalingPolicy(ctx context.Context, in *putPolicyInput) (*putPolicyOutput, error) {
	switch {
	case in.PolicyType == "StepScaling":
		return nil, errInvalid("PolicyType StepScaling is not supported by Pinion yet: a CloudWatch alarm would have to start it, and there are none. Use %s.", targetTracking)
	case in.PolicyType != targetTracking:
		return nil, errInvalid("PolicyType must be %s, the only one here, not %q", targetTracking, in.PolicyType)
	case in.Tracking == nil:
		return nil, errInvalid("TargetTrackingScalingPolicyConfiguration must be given")
	}
	if err := checkName("PolicyName", in.PolicyName); err != nil {
		return nil, err
	}
	tracking, err := in.Tracking.parse()
	if err != nil {
		return nil, err
	}
	if err := r.checkMetric(&in.resource, &tracking.Metric); err != nil {
		return nil, err
	}
	target, err := r.change(ctx, &in.resource, scaling.Change{PutPolicy: &scaling.Policy{ID: httpx.NewUUID(), Name: in.PolicyName, Tracking: *tracking, CreatedAt: r.Now()}})
	if err != nil {
		return nil, err
	}
	return &putPolicyOutput{PolicyARN: r.policyARN(target, target.Policy(in.PolicyName)), Alarms: []alarm{}}, nil
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
	PolicyARN    string                `json:"PolicyARN"`
	PolicyName   string                `json:"PolicyName"`
	PolicyType   string                `json:"PolicyType"`
	Tracking     trackingConfiguration `json:"TargetTrackingScalingPolicyConfiguration"`
	Alarms       []alarm               `json:"Alarms"`
	CreationTime wire.Time             `json:"CreationTime"`
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
	all := []scalingPolicy{}
	for _, t := range targets {
		for i := range t.Policies {
			if p := &t.Policies[i]; wanted(in.PolicyNames, p.Name) {
				all = append(all, scalingPolicy{
					named: nameOf(t), PolicyARN: r.policyARN(t, p), PolicyName: p.Name, PolicyType: targetTracking, Tracking: describeTracking(&p.Tracking),
					Alarms: []alarm{}, CreationTime: wire.NewTime(p.CreatedAt),
				})
			}
		}
	}
	page, next, err := in.cut(len(all), func(i int) string { return all[i].ResourceID + "\x00" + all[i].PolicyName })
	if err != nil {
		return nil, err
	}
	return &describePoliciesOutput{all[page.from:page.to], next}, nil
}

func describeTracking(t *scaling.Tracking) trackingConfiguration {
	value := t.Target.Float()
	c := trackingConfiguration{TargetValue: &value, ScaleOutCooldown: t.OutCooldown, ScaleInCooldown: t.InCooldown, DisableScaleIn: t.NoScaleIn}
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
	return r.partARN("scalingPolicy", p.ID, t) + ":policyName/" + p.Name
}

func (r *Request) partARN(kind, id string, t *scaling.Target) string {
	return "arn:aws:autoscaling:" + r.Principal.Region + ":" + spec.AccountID + ":" + kind + ":" + id + ":resource/ecs/" + resourceID(t.Cluster, t.Service)
}

package alarm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Resource is the kind of resource that tags are set of.
const Resource spec.ResourceKind = "alarm"

// Max bounds the alarms of a pool: the leader evaluates all of them each minute.
const Max = 1000

// MaxSpan bounds how far back an alarm looks, because metrics are kept for so long.
const MaxSpan = 3 * time.Hour

// BeyondPeriods is the number of periods before its own that an alarm looks at, for datapoints in place of those that are missing.
const BeyondPeriods = 2

// ErrTooMany refuses alarms beyond Max.
var ErrTooMany = fmt.Errorf("%w: a pool can have %d alarms", spec.ErrLimit, Max)

// Alarm watches a metric of a service. It is not deleted with the service: its data are missing from then on.
type Alarm struct {
	Name        string `json:"name"`
	Cluster     string `json:"cluster"`
	Service     string `json:"service"` // by name; one of the name that is created later is it
	Description string `json:"description,omitempty"`

	Metric     scaling.Metric `json:"metric"` // as it was given; its statistic is over one period
	Period     int            `json:"period"` // seconds
	Periods    int            `json:"periods"`
	Datapoints int            `json:"datapoints,omitempty"` // of Periods that have to breach; 0: all
	Comparison Comparison     `json:"comparison"`
	Threshold  scaling.Number `json:"threshold"`
	Missing    Missing        `json:"missing,omitempty"` // empty: MissingMissing

	Actions  Actions    `json:"actions,omitzero"`
	Disabled bool       `json:"disabled,omitempty"` // no action is carried out
	Tags     []spec.Tag `json:"tags,omitempty"`

	ConfiguredAt time.Time `json:"configuredAt"`
	State        State     `json:"state"`
}

// Actions are the ARNs of scaling policies that each state carries out once a period, for as long as it lasts.
type Actions struct {
	OK               []string `json:"ok,omitempty"`
	Alarm            []string `json:"alarm,omitempty"`
	InsufficientData []string `json:"insufficientData,omitempty"`
}

// State is the leader's last evaluation of an alarm. It is recorded when its value changes.
type State struct {
	Value  Value     `json:"value"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Value is a state of an alarm, verbatim from AWS.
type Value string

// The values of a state.
const (
	OK               Value = "OK"
	InAlarm          Value = "ALARM"
	InsufficientData Value = "INSUFFICIENT_DATA"
)

// Comparison is the operator by which a datapoint breaches the threshold, verbatim from AWS.
type Comparison string

// The comparisons.
const (
	GreaterOrEqual Comparison = "GreaterThanOrEqualToThreshold"
	Greater        Comparison = "GreaterThanThreshold"
	Less           Comparison = "LessThanThreshold"
	LessOrEqual    Comparison = "LessThanOrEqualToThreshold"
)

// Comparisons lists the comparisons.
func Comparisons() []Comparison { return []Comparison{GreaterOrEqual, Greater, Less, LessOrEqual} }

// Above reports whether it is what is above the threshold that breaches.
func (c Comparison) Above() bool { return c == GreaterOrEqual || c == Greater }

// Words is the comparison in a sentence.
func (c Comparison) Words() string {
	return map[Comparison]string{GreaterOrEqual: ">=", Greater: ">", Less: "<", LessOrEqual: "<="}[c]
}

// Missing is the treatment of a missing datapoint, verbatim from AWS.
type Missing string

// The treatments of missing datapoints.
const (
	MissingMissing      Missing = "missing"
	MissingIgnore       Missing = "ignore"
	MissingBreaching    Missing = "breaching"
	MissingNotBreaching Missing = "notBreaching"
)

// Missings lists the treatments of missing datapoints.
func Missings() []Missing {
	return []Missing{MissingMissing, MissingIgnore, MissingBreaching, MissingNotBreaching}
}

// Breaches reports whether a datapoint breaches the threshold.
func (a *Alarm) Breaches(value float64) bool {
	switch threshold := a.Threshold.Float(); a.Comparison {
	case GreaterOrEqual:
		return value >= threshold
	case Greater:
		return value > threshold
	case Less:
		return value < threshold
	}
	return value <= a.Threshold.Float()
}

// Needed returns the number of datapoints of Periods that have to breach.
func (a *Alarm) Needed() int {
	if a.Datapoints == 0 {
		return a.Periods
	}
	return a.Datapoints
}

// Length is that of a period.
func (a *Alarm) Length() time.Duration { return time.Duration(a.Period) * time.Second }

// ForState are the actions of a state.
func (a Actions) ForState(state Value) []string {
	switch state {
	case OK:
		return a.OK
	case InAlarm:
		return a.Alarm
	}
	return a.InsufficientData
}

// All are the actions of all states.
func (a Actions) All() []string { return slices.Concat(a.OK, a.Alarm, a.InsufficientData) }

// Source is the series that the alarm watches, empty when there is none.
func (a *Alarm) Source() metric.Name {
	source, err := a.Metric.Source()
	if err != nil {
		return "" // it was checked
	}
	return source
}

var (
	byName    = table.By(func(a *Alarm) string { return a.Name })
	byService = table.By(func(a *Alarm) string { return serviceKey(a.Cluster, a.Service) }).Then(func(a *Alarm) string { return a.Name })
	ofProxies = table.By(func(a *Alarm) string { return a.Name }).Where(func(a *Alarm) bool { return a.Source().OfProxies() })
)

// Indexes are those of the table.
func Indexes() []*table.Index[Alarm] { return []*table.Index[Alarm]{byName, byService, ofProxies} }

func serviceKey(cluster, service string) string { return cluster + "/" + service }

// arnType stands before the name in an ARN.
const arnType = "alarm:"

// ARN is the name as AWS writes it.
func (a *Alarm) ARN(region string) string {
	return "arn:aws:cloudwatch:" + region + ":" + spec.AccountID + ":" + arnType + a.Name
}

// ParseARN is the name in the ARN of an alarm; ok when it is one.
func ParseARN(arn string) (name string, ok bool) {
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 || fields[2] != "cloudwatch" || fields[4] != spec.AccountID {
		return "", false
	}
	return strings.CutPrefix(fields[5], arnType)
}

// Find returns an alarm, nil when none has the name.
func Find(r table.Reader, name string) *Alarm { return byName.Get(r, sortkey.Key{First: name}) }

// All lists the alarms by name.
func All(r table.Reader) []*Alarm { return slices.Collect(byName.All(r)) }

// OfService lists the alarms of a service by name.
func OfService(r table.Reader, cluster, service string) []*Alarm {
	return byService.List(r, serviceKey(cluster, service))
}

// AnyOfProxies reports whether an alarm watches what proxies measure.
func AnyOfProxies(r table.Reader) bool { return ofProxies.Len(r) > 0 }

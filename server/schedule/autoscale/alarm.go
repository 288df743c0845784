package autoscale

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
)

// MaxAlarmStride is how often an alarm is evaluated; one with a shorter period once a period.
const MaxAlarmStride = time.Minute

// AlarmMoment is the end of the periods that an alarm is evaluated by at a time.
func AlarmMoment(a *alarm.Alarm, now time.Time) time.Time {
	return now.Truncate(min(a.Length(), MaxAlarmStride))
}

// Verdict is what an alarm says of a moment.
type Verdict struct {
	Value  alarm.Value
	Reason string
	Last   []float64 // the samples of the last datapoint; none: there is no data
}

// Watched is a series that is known since a time.
type Watched struct {
	Samples []Sample // the oldest first
	Since   time.Time
}

// datapoint is one period of an alarm.
type datapoint struct {
	value   float64
	samples []float64 // none: it is missing
}

// Evaluate is the state of an alarm at its moment, by the last of its periods that have data, as CloudWatch has it. What the series does not
// reach back to is not missing, as no leader knows what was before its term: only what decides in any case does so before the series is long
// enough; ok is false while nothing does, and the state stays.
func Evaluate(a *alarm.Alarm, series Watched, moment time.Time) (v Verdict, ok bool) {
	var found []datapoint // the latest first
	unknown := 0
	for i := range a.Periods + alarm.BeyondPeriods {
		until := moment.Add(-time.Duration(i) * a.Length())
		point := pointOf(a, series.Samples, until)
		switch {
		case len(point.samples) > 0 && len(found) < a.Periods:
			found = append(found, point)
		case len(point.samples) == 0 && until.Add(-a.Length()).Before(series.Since):
			unknown++
		}
	}
	breaching := 0
	for _, point := range found {
		if a.Breaches(point.value) {
			breaching++
		}
	}
	switch missing := a.Periods - len(found); {
	case breaching >= a.Needed():
		v.Value = alarm.InAlarm
	case breaching+missing < a.Needed():
		v.Value = alarm.OK
	case unknown > 0:
		return Verdict{}, false
	default:
		v.Value = withMissing(a, len(found), breaching)
	}
	if len(found) > 0 {
		v.Last = found[0].samples
	}
	v.Reason = reason(a, v.Value, found, breaching)
	return v, v.Value != ""
}

// withMissing is the state when datapoints are missing that could change it, empty when it stays.
func withMissing(a *alarm.Alarm, found, breaching int) alarm.Value {
	all := breaching == found // what is there breaches
	switch a.Missing {
	case alarm.MissingBreaching:
		return alarm.InAlarm
	case alarm.MissingNotBreaching:
		return alarm.OK
	case alarm.MissingIgnore:
		if all {
			return ""
		}
		return alarm.OK
	}
	switch {
	case found == 0:
		return alarm.InsufficientData
	case all:
		return alarm.InAlarm
	}
	return alarm.OK
}

// pointOf is the datapoint of the period until a time. Of what is partial there may be more, so nothing says that it is below a threshold.
func pointOf(a *alarm.Alarm, series []Sample, until time.Time) (point datapoint) {
	from := until.Add(-a.Length())
	first, _ := slices.BinarySearchFunc(series, from, func(s Sample, at time.Time) int {
		if s.At.After(at) {
			return 1
		}
		return -1
	})
	source, scale := a.Source(), 1.0
	if a.Metric.Statistic == "Sum" { // of requests a minute: those of the whole period
		scale = a.Length().Minutes()
	}
	for _, s := range series[first:] {
		if s.At.After(until) {
			break
		}
		if !s.Partial || a.Comparison.Above() {
			point.samples = append(point.samples, s.value(source)*scale)
		}
	}
	if len(point.samples) > 0 {
		point.value = aggregate(a.Metric.Statistic, point.samples)
	}
	return point
}

// value is the metric at that moment: per replica, but for the queue, which is of the cluster.
func (s Sample) value(source metric.Name) float64 {
	if source == metric.QueueDepth {
		return s.Total
	}
	return s.Total / float64(max(s.Count, 1))
}

// aggregate is the Minimum, the Maximum or the Average of samples.
func aggregate(kind string, samples []float64) float64 {
	switch kind {
	case "Minimum":
		return slices.Min(samples)
	case "Maximum":
		return slices.Max(samples)
	}
	sum := 0.0
	for _, s := range samples {
		sum += s
	}
	return sum / float64(len(samples))
}

// words are what an alarm watches.
func words(a *alarm.Alarm) string {
	if a.Source() == metric.QueueDepth {
		return "waiting tasks of the cluster"
	}
	return a.Source().Words()
}

// maxReasonPoints bounds the datapoints in a reason.
const maxReasonPoints = 10

func reason(a *alarm.Alarm, value alarm.Value, found []datapoint, breaching int) string {
	var texts []string
	for _, point := range found[:min(len(found), maxReasonPoints)] {
		texts = append(texts, number(point.value))
	}
	if len(found) > maxReasonPoints {
		texts = append(texts, "...")
	}
	if len(found) == 0 {
		return fmt.Sprintf("%d of the last %d datapoints are missing, which counts as %s.", a.Periods, a.Periods, cmp.Or(a.Missing, alarm.MissingMissing))
	}
	return fmt.Sprintf("%s: of the last %d datapoints of %s, %d were there and %d %s %s, where %d make an alarm: [%s], the latest first.",
		value, a.Periods, words(a), len(found), breaching, a.Comparison.Words(), number(a.Threshold.Float()), a.Needed(), strings.Join(texts, ", "))
}

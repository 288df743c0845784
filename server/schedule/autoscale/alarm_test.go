package autoscale

import (
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
)

// busy is an alarm for a CPU utilization above 70 percent, by so many of so many minutes.
func busy(needed, periods int) *alarm.Alarm {
	return &alarm.Alarm{
		Name: "busy", Metric: scaling.Metric{Namespace: scaling.NamespaceECS, Name: string(metric.CPU)}, Period: 60, Periods: periods, Datapoints: needed,
		Comparison: alarm.Greater, Threshold: "70", State: alarm.State{Value: alarm.OK},
	}
}

// minutes are the datapoints of a series, the latest last: X breaches, 0 does not, - is missing, ? was before the series.
func minutes(text string) (w Watched) {
	moments := strings.Fields(text)
	for i, what := range moments {
		at := now.Add(-time.Duration(len(moments)-1-i) * time.Minute)
		switch what {
		case "?":
			w.Since = at.Add(time.Second)
		case "X":
			w.Samples = append(w.Samples, Sample{At: at.Add(-30 * time.Second), Total: 160, Count: 2}, Sample{At: at, Total: 170, Count: 2})
		case "0":
			w.Samples = append(w.Samples, Sample{At: at, Total: 120, Count: 2})
		}
	}
	return w
}

// The tables that CloudWatch documents for missing data, for three of three and two of three datapoints.
func TestTheStateOfAnAlarm(t *testing.T) {
	const keep = alarm.Value("")
	ok, in, none := alarm.OK, alarm.InAlarm, alarm.InsufficientData
	order := []alarm.Missing{alarm.MissingMissing, alarm.MissingIgnore, alarm.MissingBreaching, alarm.MissingNotBreaching}
	for _, c := range []struct {
		needed int
		series string
		want   [4]alarm.Value
	}{
		{3, "0 - X - X", [4]alarm.Value{ok, ok, ok, ok}}, {3, "- - - - 0", [4]alarm.Value{ok, ok, ok, ok}}, {3, "- - - - -", [4]alarm.Value{none, keep, in, ok}},
		{3, "0 X X - X", [4]alarm.Value{in, in, in, in}}, {3, "- - X - -", [4]alarm.Value{in, keep, in, ok}},
		{2, "0 - X - X", [4]alarm.Value{in, in, in, in}}, {2, "0 0 X 0 X", [4]alarm.Value{in, in, in, in}}, {2, "0 - X - -", [4]alarm.Value{ok, ok, in, ok}},
		{2, "- - - - 0", [4]alarm.Value{ok, ok, in, ok}}, {2, "- - - - X", [4]alarm.Value{in, keep, in, ok}},
		{2, "? ? ? ? X", [4]alarm.Value{keep, keep, keep, keep}}, {2, "? ? ? X X", [4]alarm.Value{in, in, in, in}}, {2, "? ? ? 0 0", [4]alarm.Value{ok, ok, ok, ok}},
	} {
		for i, missing := range order {
			a := busy(c.needed, 3)
			a.Missing = missing
			if got, _ := Evaluate(a, minutes(c.series), now); got.Value != c.want[i] {
				t.Errorf("%d of 3, %s, %s: %q, want %q", c.needed, c.series, missing, got.Value, c.want[i])
			}
		}
	}
	got, _ := Evaluate(busy(1, 2), minutes("0 X"), now)
	if want := "ALARM: of the last 2 datapoints of CPU utilization in percent, 2 were there and 1 > 70, where 1 make an alarm: [82.5, 60], the latest first."; got.Reason != want || len(got.Last) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestADatapointOfAnAlarm(t *testing.T) {
	series := Watched{Samples: []Sample{{At: now.Add(-time.Minute), Total: 900, Count: 1}, {At: now.Add(-50 * time.Second), Total: 8, Count: 2}, {At: now, Total: 4, Count: 2, Partial: true}}}
	for name, c := range map[string]struct {
		change func(*alarm.Alarm)
		want   float64
	}{
		"the average of what replicas have":           {func(*alarm.Alarm) {}, 3},
		"the least":                                   {func(a *alarm.Alarm) { a.Metric.Statistic = "Minimum" }, 2},
		"the most":                                    {func(a *alarm.Alarm) { a.Metric.Statistic = "Maximum" }, 4},
		"requests of the whole period":                {func(a *alarm.Alarm) { a.Metric.Statistic, a.Period = "Sum", 30 }, 1},
		"the whole queue":                             {func(a *alarm.Alarm) { a.Metric.Namespace, a.Metric.Name = scaling.Namespace, string(metric.QueueDepth) }, 6},
		"what is partial says of nothing that is low": {func(a *alarm.Alarm) { a.Comparison = alarm.Less }, 4},
	} {
		a := busy(1, 1)
		if c.change(a); pointOf(a, series.Samples, now).value != c.want {
			t.Errorf("%s: %v", name, pointOf(a, series.Samples, now))
		}
	}
	for period, want := range map[int]time.Duration{10: 0, 60: 20 * time.Second, 3600: 20 * time.Second} {
		a := busy(1, 1)
		a.Period = period
		if at := now.Add(20 * time.Second); at.Sub(AlarmMoment(a, at)) != want {
			t.Errorf("a period of %d s is evaluated at %v", period, AlarmMoment(a, at))
		}
	}
}

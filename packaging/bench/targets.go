package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// metric is a figure that the project promises or watches, in the unit that benchstat shows: times in seconds.
type metric struct {
	benchmark, unit string
	what            string // for people
	target          target
	reference       source // what it is set beside; zero: nothing
}

// source is the benchmark and unit of a value. An empty benchmark is the metric's own.
type source struct{ benchmark, unit string }

// target is the bound of a metric: factor times the value of a source, plus a constant. Without a source it is the constant.
type target struct {
	kind   kind
	of     source
	factor float64
	plus   float64
	exact  bool // the value is computed, not timed: it may not miss the bound at all
}

type kind int

const (
	watched kind = iota // no bound
	atMost
	atLeast
)

// tolerance is the part by which a timed value may miss its target before the run fails: machines differ, and so do runs.
const tolerance = 0.30

// verdict is a metric with what a run has found.
type verdict struct {
	metric
	value, bound, beside float64
	hasReference         bool
}

// evaluate finds the metrics that a run has measured.
func evaluate(r *results, metrics []metric) (all []verdict, err error) {
	for _, m := range metrics {
		v := verdict{metric: m}
		var ok bool
		if v.value, ok = r.value(m.benchmark, m.unit); !ok {
			continue
		}
		if v.bound, ok = m.bound(r); !ok {
			return all, fmt.Errorf("%s %s: its target is %s, and that was not measured", m.benchmark, m.unit, m.target.text(m.unit))
		}
		if m.reference != (source{}) {
			v.beside, v.hasReference = m.reference.value(r, m.benchmark)
		}
		all = append(all, v)
	}
	return all, nil
}

func (s source) value(r *results, own string) (float64, bool) {
	if s.benchmark != "" {
		own = s.benchmark
	}
	return r.value(own, s.unit)
}

func (m metric) bound(r *results) (float64, bool) {
	if m.target.of == (source{}) {
		return m.target.plus, true
	}
	of, ok := m.target.of.value(r, m.benchmark)
	return m.target.factor*of + m.target.plus, ok
}

// missed reports whether the value is on the wrong side of its bound, and failed whether it is far off.
func (v verdict) missed() (missed, failed bool) {
	slack := 1 + tolerance
	if v.target.exact {
		slack = 1
	}
	switch v.target.kind {
	case atMost:
		return v.value > v.bound, v.value > v.bound*slack
	case atLeast:
		return v.value < v.bound, v.value < v.bound/slack
	}
	return false, false
}

// failures describes the metrics that miss their targets by more than the tolerance.
func failures(all []verdict) (lines []string) {
	for _, v := range all {
		if _, failed := v.missed(); failed {
			lines = append(lines, fmt.Sprintf("%s: %s is %s, the target is %s", v.benchmark, v.what, format(v.value, v.unit), v.target.text(v.unit)))
		}
	}
	return lines
}

// table writes what was measured for people.
func table(out io.Writer, all []verdict) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "METRIC\tVALUE\tREFERENCE\tTARGET\t")
	for _, v := range all {
		reference, mark := "-", ""
		if v.hasReference {
			reference = v.reference.unit + " " + format(v.beside, v.reference.unit)
		}
		if missed, failed := v.missed(); failed {
			mark = "FAILED"
		} else if missed {
			mark = "missed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.what, format(v.value, v.unit), reference, v.target.text(v.unit), mark)
	}
	return w.Flush()
}

// list writes the metrics themselves: what a whole run measures.
func list(out io.Writer, metrics []metric) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "BENCHMARK\tUNIT\tTARGET\tREFERENCE\tMETRIC")
	for _, m := range metrics {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.benchmark, m.unit, m.target.text(m.unit), strings.TrimSpace(m.reference.benchmark+" "+m.reference.unit), m.what)
	}
	return w.Flush()
}

// text is a target in the unit of its metric.
func (t target) text(unit string) string {
	bound := format(t.plus, unit)
	if t.of != (source{}) {
		bound = strings.TrimSpace(fmt.Sprintf("%.4g x %s %s", t.factor, t.of.benchmark, t.of.unit))
		if t.plus != 0 {
			bound += " + " + format(t.plus, unit)
		}
	}
	switch t.kind {
	case atMost:
		return "at most " + strings.Join(strings.Fields(bound), " ")
	case atLeast:
		return "at least " + strings.Join(strings.Fields(bound), " ")
	}
	return "-"
}

// format is a value for people.
func format(v float64, unit string) string {
	name := unit[strings.LastIndexByte(unit, '-')+1:]
	switch {
	case strings.HasPrefix(name, "sec"):
		return threeDigits(time.Duration(v * float64(time.Second))).String()
	case name == "B" && v >= 1e6:
		return fmt.Sprintf("%.0f MB", v/1e6)
	case strings.HasPrefix(name, "B/min"):
		return fmt.Sprintf("%.1f kB", v/1e3)
	case strings.HasPrefix(name, "%"):
		return fmt.Sprintf("%.2f %%", v)
	case strings.HasSuffix(unit, "/s"):
		return fmt.Sprintf("%.0f a second", v)
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// threeDigits rounds to three digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

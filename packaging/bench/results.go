package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// results are benchmark results, written in the Go benchmark format as they come.
type results struct {
	out *benchfmt.Writer
	all []*benchfmt.Result
}

func newResults(out io.Writer) *results { return &results{out: benchfmt.NewWriter(out)} }

// add takes a result of this program: what was measured n times.
func (r *results) add(name string, n int, values ...benchfmt.Value) error {
	config := []benchfmt.Config{
		{Key: "goos", Value: []byte(runtime.GOOS), File: true},
		{Key: "goarch", Value: []byte(runtime.GOARCH), File: true},
		{Key: "pkg", Value: []byte("pinion/packaging/bench"), File: true},
	}
	full := fmt.Sprintf("%s-%d", name, runtime.GOMAXPROCS(0))
	return r.write(&benchfmt.Result{Config: config, Name: benchfmt.Name(full), Iters: n, Values: values})
}

func (r *results) write(one *benchfmt.Result) error {
	r.all = append(r.all, one)
	return r.out.Write(one)
}

// value is the median of what was measured, by the benchmark's name without the number of processors, and by its unit.
func (r *results) value(benchmark, unit string) (float64, bool) {
	var samples []float64
	for _, one := range r.all {
		name, processors := splitProcessors(one.Name.String())
		if name != benchmark && (processors == "" || name+processors != benchmark) {
			continue
		}
		if v, ok := one.Value(unit); ok {
			samples = append(samples, v)
		}
	}
	if len(samples) == 0 {
		return 0, false
	}
	slices.Sort(samples)
	return samples[len(samples)/2], true
}

// splitProcessors cuts the "-8" that the testing package puts behind a benchmark's name.
func splitProcessors(name string) (string, string) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return name, ""
	}
	if _, err := strconv.Atoi(name[at+1:]); err != nil {
		return name, ""
	}
	return name[:at], name[at:]
}

// read takes the results of a text in the Go benchmark format.
func (r *results) read(text io.Reader) error {
	reader := benchfmt.NewReader(text, "go test")
	for reader.Scan() {
		if one, ok := reader.Result().(*benchfmt.Result); ok {
			if err := r.write(one.Clone()); err != nil {
				return err
			}
		}
	}
	return reader.Err()
}

// goTest runs benchmarks of a package in a process of their own and takes their results.
func (r *results) goTest(ctx context.Context, pkg, pattern string, flags ...string) error {
	args := append([]string{"test", "-run", "^$", "-bench", pattern, "-timeout", "0", pkg}, flags...)
	cmd := exec.CommandContext(ctx, "go", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
	}
	before := len(r.all)
	if err := r.read(&out); err != nil {
		return err
	}
	if len(r.all) == before {
		return fmt.Errorf("go %s: no benchmark has run", strings.Join(args, " "))
	}
	return nil
}

// took is a duration as a measurement: took("p50", d) has the unit p50-ns.
func took(what string, d time.Duration) benchfmt.Value {
	return benchfmt.Value{Value: d.Seconds(), Unit: what + "-sec", OrigValue: float64(d.Nanoseconds()), OrigUnit: what + "-ns"}
}

// perOp is the time of one operation.
func perOp(d time.Duration) benchfmt.Value {
	return benchfmt.Value{Value: d.Seconds(), Unit: "sec/op", OrigValue: float64(d.Nanoseconds()), OrigUnit: "ns/op"}
}

// measured is a measurement in a unit that needs no conversion.
func measured(v float64, unit string) benchfmt.Value { return benchfmt.Value{Value: v, Unit: unit} }

// percentiles are the median and the 99th percentile of the samples; the prefix is empty or ends with a dash.
func percentiles(prefix string, samples []time.Duration) []benchfmt.Value {
	return []benchfmt.Value{took(prefix+"p50", percentile(samples, 0.5)), took(prefix+"p99", percentile(samples, 0.99))}
}

// percentile returns the p-th (0 to 1) of the samples, which it sorts.
func percentile(samples []time.Duration, p float64) time.Duration {
	slices.Sort(samples)
	return samples[min(int(p*float64(len(samples))), len(samples)-1)]
}

func median(samples []time.Duration) time.Duration { return percentile(samples, 0.5) }

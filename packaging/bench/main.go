// Command bench measures what Pinion promises, each metric beside its reference in the same run, and writes the results in the
// Go benchmark format, which benchstat reads. What one process can show are benchmarks of the packages, which it runs; the
// rest it measures on hosts of a testbed. It needs root, bin/pinion and iproute2; it leaves nothing behind. It ends with
// status 1 when a metric misses its target by more than 30 %, or one that is computed and not timed misses it at all.
//
//	go run ./packaging/bench                      all but the cold build
//	go run ./packaging/bench -cold                the cold build too (minutes)
//	go run ./packaging/bench -only pool,fleet     what many hosts do
//	go run ./packaging/bench -table               a table for people
//	go run ./packaging/bench -save old.txt        keep the results, to be compared with later
//	go run ./packaging/bench -compare old.txt     run, and show what has changed since
//	go run ./packaging/bench -list                the metrics, their targets and references; measures nothing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// minRepeats is the least number of values of a median.
const minRepeats = 10

// options are the flags.
type options struct {
	binary  string
	cold    bool
	repeats int
	kills   int
	hosts   int
	count   int
	only    string
	table   bool
	list    bool
	save    string
	compare string
}

// part is a part of the bench. It starts what it measures, and ends it.
type part struct {
	name    string
	measure func(context.Context, options, *results) error
}

var parts = []part{
	{"host", inOrder(goTest("./node/logs", "^BenchmarkFollow$"), goTest("./node/logs/pinion-logger", "^BenchmarkLongLog$", "-benchtime", "1x", "-log-bytes", "1000000000"), measureHost)},
	{"api", inOrder(goTest("./api/auth/sigv4", "^Benchmark(Sign|Verify)$"), goTest("./api", "^BenchmarkAuthorize$"), goTest("./api", "^BenchmarkPageThrough$", "-benchtime", "1x"), goTest("./api", "^BenchmarkListDefinitions$"), measureOneHost, measureLists, measureFollower)},
	{"builds", measureBuilds},
	{"idle", measureIdle},
	{"pool", measurePool},
	{"fleet", measureFleet},
	{"traces", goTest("./server/schedule/replay", "^BenchmarkTraces$", "-benchtime", "1x")},
	{"events", measureEvents},
	{"placing", inOrder(goTest("./server/schedule", "^BenchmarkFleet$/^10000_hosts,_1_GPUs", "-cpu", "1", "-benchtime", "72000x"),
		goTest("./packaging/bench", "^Benchmark(BareRaft|RunTask|StarvedRunTask)$", "-benchtime", "1x"))},
	{"waiting", goTest("./packaging/bench", "^Benchmark(BareRaft|Queue)$", "-benchtime", "1x")},
	{"state", goTest("./raftfsm", "^BenchmarkRunningTasks$", "-benchtime", "1x", "-tasks", "1000000")},
	{"history", goTest("./server/history", "^BenchmarkHistory$", "-benchtime", "1x", "-timeout", "20m", "-tasks", "1000000")},
	{"services", goTest("./packaging/bench", "^Benchmark(Services|Routing)$", "-benchtime", "1x")},
	{"proxy", goTest("./node/proxy", "^BenchmarkProxy$", "-benchtime", "1x")}, // beside nginx and HAProxy, when their packages are installed
	{"links", goTest("./packaging/bench", "^Benchmark(LinkScores|Pick4Of16)$", "-benchtime", "1x")},
}

// inOrder is one part made of several.
func inOrder(measures ...func(context.Context, options, *results) error) func(context.Context, options, *results) error {
	return func(ctx context.Context, o options, r *results) error {
		for _, measure := range measures {
			if err := measure(ctx, o, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// goTest runs benchmarks of a package.
func goTest(pkg, pattern string, flags ...string) func(context.Context, options, *results) error {
	return func(ctx context.Context, _ options, r *results) error { return r.goTest(ctx, pkg, pattern, flags...) }
}

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil && o.list {
		err = list(os.Stdout, metrics)
	} else if err == nil {
		ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer cancel()
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.As(err, new(usageError)) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is a mistake in the flags.
type usageError struct{ error }

func parseOptions(args []string) (o options, err error) {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "bin/pinion", "the pinion `PROGRAM`")
	flags.BoolVar(&o.cold, "cold", false, "also measure a cold `make build` (empty caches; takes minutes)")
	flags.IntVar(&o.repeats, "n", 30, "repeats of each measurement on hosts")
	flags.IntVar(&o.kills, "kills", 20, "leaders that are killed")
	flags.IntVar(&o.hosts, "hosts", 1000, "simulated hosts")
	flags.IntVar(&o.count, "count", 1, "measure everything so many times: benchstat tells a change from noise with 6 or more")
	flags.StringVar(&o.only, "only", strings.Join(names, ","), "the `PARTS` to measure")
	flags.BoolVar(&o.table, "table", false, "print a table for people instead of the Go benchmark format")
	flags.BoolVar(&o.list, "list", false, "print the metrics with their targets and references, and measure nothing")
	flags.StringVar(&o.save, "save", "", "also write the results to a `FILE`, in the Go benchmark format")
	flags.StringVar(&o.compare, "compare", "", "end with benchstat's comparison with the results in a `FILE`")
	if err := flags.Parse(args); err != nil {
		return o, usageError{err}
	}
	for name := range strings.SplitSeq(o.only, ",") {
		if !slices.Contains(names, name) {
			return o, usageError{fmt.Errorf("-only %s: there is no part %q; parts are %s", o.only, name, strings.Join(names, ","))}
		}
	}
	if min(o.repeats, o.kills) < minRepeats {
		return o, usageError{fmt.Errorf("-n %d -kills %d: a median of fewer than %d values says nothing", o.repeats, o.kills, minRepeats)}
	}
	if o.count < 1 {
		return o, usageError{fmt.Errorf("-count %d: nothing would be measured", o.count)}
	}
	if o.hosts < minRepeats {
		return o, usageError{fmt.Errorf("-hosts %d: a fleet has at least %d", o.hosts, minRepeats)}
	}
	if o.compare != "" && o.compare == o.save {
		return o, usageError{fmt.Errorf("-save and -compare name the same file %s", o.save)}
	}
	if o.compare != "" {
		if _, err := os.Stat(o.compare); err != nil {
			return o, usageError{fmt.Errorf("-compare: %w", err)}
		}
	}
	return o, nil
}

// run measures, prints and evaluates. What was measured is printed and saved also when a part fails.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	file, keep, err := o.resultsFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keep()) }()
	text := io.Writer(file)
	if !o.table {
		text = io.MultiWriter(stdout, file)
	}
	r := newResults(text)
	for n := 0; n < o.count && err == nil; n++ {
		err = o.measure(ctx, r, stderr)
	}
	all, wrong := evaluate(r, metrics)
	err = errors.Join(err, wrong)
	if o.table {
		err = errors.Join(err, table(stdout, all))
	}
	if o.compare != "" && len(r.all) > 0 {
		err = errors.Join(err, compare(ctx, o.compare, file.Name(), stdout, stderr))
	}
	if missed := failures(all); len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("targets missed by more than %.0f %%:\n%s", 100*tolerance, strings.Join(missed, "\n")))
	}
	return err
}

// resultsFile opens the file to which results are written as they come; keep is called at the end.
func (o options) resultsFile() (file *os.File, keep func() error, err error) {
	if o.save != "" {
		file, err = os.Create(o.save)
		return file, func() error { return file.Close() }, err
	}
	file, err = os.CreateTemp("", "pinion-bench-*.txt")
	return file, func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }, err
}

func (o options) measure(ctx context.Context, r *results, stderr io.Writer) error {
	wanted := strings.Split(o.only, ",")
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		begin := time.Now()
		fmt.Fprintf(stderr, "bench: %s\n", p.name)
		if err := p.measure(ctx, o, r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(stderr, "bench: %s took %v\n", p.name, time.Since(begin).Round(time.Second))
	}
	return nil
}

// compare prints what benchstat says of an earlier run and this one.
func compare(ctx context.Context, before, now string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "tool", "benchstat", "before="+before, "now="+now)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("comparing with %s: %w", before, err)
	}
	return nil
}

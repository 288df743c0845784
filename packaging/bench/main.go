// Command bench measures what Pinion promises, each figure beside its reference in the same run: medians on the
// machine it runs on, nothing asserted. It needs root, bin/pinion and iproute2; it leaves nothing behind.
//
//	go run ./packaging/bench                     every figure but the cold build
//	go run ./packaging/bench -cold               the cold build too (minutes)
//	go run ./packaging/bench -only pool,fleet    what many hosts do
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// fewest is how many rounds a median is taken of at least.
const fewest = 10

// figure is one line of the table.
type figure struct{ what, got, reference, reach string }

// options are the flags.
type options struct {
	binary string
	cold   bool
	rounds int
	kills  int
	hosts  int
}

// parts of the bench, in the order of the table. Each starts what it measures, and ends it.
var parts = []struct {
	name    string
	measure func(context.Context, options) ([]figure, error)
}{
	{"host", measureHost},
	{"api", measureAPI},
	{"builds", measureBuilds},
	{"pool", measurePool},
	{"fleet", measureFleet},
	{"traces", measureTraces},
	{"events", measureEvents},
	{"placing", measurePlacing},
	{"waiting", measureWaiting},
	{"state", measureState},
	{"links", measureLinks},
}

func main() {
	var o options
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	flag.StringVar(&o.binary, "binary", "bin/pinion", "the pinion `PROGRAM`")
	flag.BoolVar(&o.cold, "cold", false, "also measure a cold `make build` (empty caches; takes minutes)")
	flag.IntVar(&o.rounds, "n", 30, "rounds of each measurement")
	flag.IntVar(&o.kills, "kills", 20, "leaders that are killed")
	flag.IntVar(&o.hosts, "hosts", 1000, "simulated hosts")
	only := flag.String("only", strings.Join(names, ","), "the `PARTS` to measure")
	flag.Parse()
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			usage("-only %s: there is no part %q; parts are %s", *only, name, strings.Join(names, ","))
		}
	}
	if min(o.rounds, o.kills) < fewest {
		usage("-n %d -kills %d: a median of fewer than %d rounds says nothing", o.rounds, o.kills, fewest)
	}
	if o.hosts < fewest {
		usage("-hosts %d: a fleet has at least %d", o.hosts, fewest)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	figures, err := measure(ctx, o, wanted)
	show(figures)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func usage(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	os.Exit(2)
}

// measure returns what was measured also when a part fails.
func measure(ctx context.Context, o options, wanted []string) (figures []figure, err error) {
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", p.name)
		more, err := p.measure(ctx, o)
		figures = append(figures, more...)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return figures, nil
}

func show(figures []figure) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tGOT\tREFERENCE IN THIS RUN\tREACH")
	for _, f := range figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.what, f.got, f.reference, f.reach)
	}
	table.Flush()
}

// percentile returns the p-th (0 to 1) of the samples, which it sorts.
func percentile(samples []time.Duration, p float64) time.Duration {
	slices.Sort(samples)
	return samples[min(int(p*float64(len(samples))), len(samples)-1)]
}

func median(samples []time.Duration) time.Duration { return percentile(samples, 0.5) }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

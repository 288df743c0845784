// Command bench measures what Pinion promises, each figure beside its reference in the same run: medians on the
// machine it runs on, nothing asserted. It needs root and bin/pinion; it leaves nothing behind.
//
//	go run ./packaging/bench            every figure but the cold build
//	go run ./packaging/bench -cold      the cold build too (minutes)
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// fewest is how many rounds a median is taken of at least.
const fewest = 10

// figure is one line of the table.
type figure struct{ what, got, reference, reach string }

func main() {
	cold := flag.Bool("cold", false, "also measure a cold `make build` (empty caches; takes minutes)")
	rounds := flag.Int("n", 30, "rounds of each measurement")
	flag.Parse()
	if *rounds < fewest {
		fmt.Fprintf(os.Stderr, "bench: -n %d: a median of fewer than %d rounds says nothing\n", *rounds, fewest)
		os.Exit(2)
	}
	figures, err := measure(*rounds, *cold)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tGOT\tREFERENCE IN THIS RUN\tREACH")
	for _, f := range figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.what, f.got, f.reference, f.reach)
	}
	table.Flush()
}

func measure(rounds int, cold bool) ([]figure, error) {
	builds, err := measureBuilds(cold)
	if err != nil {
		return nil, err
	}
	h, err := startHost()
	if err != nil {
		return nil, err
	}
	defer h.down()
	// Memory first: idle means that nothing has run yet.
	memory, err := measureMemory(h)
	if err != nil {
		return nil, err
	}
	starts, err := measureStarts(h, rounds)
	if err != nil {
		return nil, err
	}
	replies, err := measureReplies(h, rounds)
	if err != nil {
		return nil, err
	}
	adoption, err := measureAdoption(h)
	if err != nil {
		return nil, err
	}
	return slices.Concat(starts, replies, adoption, memory, builds), nil
}

// percentile returns the p-th (0 to 1) of the samples, which it sorts.
func percentile(samples []time.Duration, p float64) time.Duration {
	slices.Sort(samples)
	return samples[min(int(p*float64(len(samples))), len(samples)-1)]
}

func median(samples []time.Duration) time.Duration { return percentile(samples, 0.5) }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

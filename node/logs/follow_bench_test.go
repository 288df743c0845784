package logs

import (
	"bufio"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// BenchmarkFollow times a line from its write to the follower that gets it, one line at a time, beside the
// same through a pipe.
func BenchmarkFollow(b *testing.B) {
	s := NewStore(b.TempDir())
	write(b, s.Path("t", "a"), 0, "first")
	got := make(chan time.Time)
	go func() {
		_ = s.Read(b.Context(), spec.LogQuery{Task: "t", Follow: true}, nil, func(spec.LogLine) error {
			got <- time.Now()
			return nil
		})
	}()
	<-got
	in, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	piped := make(chan time.Time)
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			piped <- time.Now()
		}
	}()
	var follows, pipes []float64
	for b.Loop() {
		began := time.Now()
		write(b, s.Path("t", "a"), len(follows)+1, "line")
		follows = append(follows, (<-got).Sub(began).Seconds())
		began = time.Now()
		if _, err := io.WriteString(out, "line\n"); err != nil {
			b.Fatal(err)
		}
		pipes = append(pipes, (<-piped).Sub(began).Seconds())
	}
	slices.Sort(follows)
	slices.Sort(pipes)
	b.ReportMetric(follows[len(follows)/2], "p50-sec")
	b.ReportMetric(follows[len(follows)*99/100], "p99-sec")
	b.ReportMetric(pipes[len(pipes)/2], "pipe-p50-sec")
	b.ReportMetric(pipes[len(pipes)*99/100], "pipe-p99-sec")
}

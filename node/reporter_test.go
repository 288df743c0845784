package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"pinion/raftfsm/spec"
)

func TestReportsKeepTheirOrderAndSayTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent [][]string
		answer := make(chan error)
		r := newReporter(slog.New(slog.DiscardHandler), func(_ context.Context, reports []spec.TaskReport) error {
			var batch []string
			for _, report := range reports {
				batch = append(batch, report.TaskID+" "+string(report.Status))
			}
			sent = append(sent, batch)
			return <-answer
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.run(ctx)
		put := func(id string, s spec.Status) <-chan struct{} {
			return r.Enqueue(spec.TaskReport{TaskID: id, Status: s})
		}

		first := put("a", spec.Pending)
		synctest.Wait() // the first batch is under way, the next one gathers
		put("c", spec.Pending)
		put("b", spec.Running)
		second := put("c", spec.Stopped)
		third := put("a", spec.Running)
		answer <- errors.New("not now")
		answer <- nil // repeated, with what came in since
		synctest.Wait()
		if !isClosed(first) || !isClosed(third) || isClosed(second) {
			t.Errorf("heard: first %v, third %v, second %v", isClosed(first), isClosed(third), isClosed(second))
		}
		answer <- nil
		synctest.Wait()
		if !isClosed(second) {
			t.Error("the second batch was not heard")
		}
		want := [][]string{{"a PENDING"}, {"a RUNNING"}, {"c STOPPED", "b RUNNING"}}
		if fmt.Sprint(sent) != fmt.Sprint(want) {
			t.Errorf("sent %v, want %v", sent, want)
		}
	})
}

func TestABatchHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		r := newReporter(slog.New(slog.DiscardHandler), func(_ context.Context, reports []spec.TaskReport) error {
			sizes = append(sizes, len(reports))
			return nil
		})
		for i := range 2*reportBatch + 1 {
			r.Enqueue(spec.TaskReport{TaskID: fmt.Sprint(i)})
		}
		dropped := r.Enqueue(spec.TaskReport{TaskID: "0"})
		r.Discard("0")
		if !isClosed(dropped) {
			t.Error("nobody waits for a dropped report")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.run(ctx)
		synctest.Wait()
		if !slices.Equal(sizes, []int{reportBatch, reportBatch}) {
			t.Errorf("batches of %v", sizes)
		}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

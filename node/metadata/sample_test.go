package metadata

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/runtime"
)

func TestSamplesThatAreComparedAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s samples
		taken, machine := 0, 1000*time.Second
		used := 5 * time.Second
		usage := func(context.Context, string) (runtime.Usage, error) {
			taken++
			return runtime.Usage{At: time.Now(), CPU: used, MachineCPU: machine, CPUs: 2}, nil
		}
		want := func(why string, samples int) (before, now runtime.Usage) {
			t.Helper()
			before, now, err := s.take(t.Context(), "c", usage)
			if err != nil || taken != samples || before.CPU > now.CPU || before.MachineCPU > now.MachineCPU || now.At.Sub(before.At) < sampleInterval {
				t.Errorf("%s: %d samples, %+v and %+v, %v", why, taken, before, now, err)
			}
			return before, now
		}
		if before, _ := want("the first one", 1); before.CPU != 0 {
			t.Errorf("at its start it had used %v", before.CPU)
		}
		want("at once again", 1)
		time.Sleep(sampleInterval)
		used, machine = used+time.Second, machine+2*time.Second
		want("later", 2)
		time.Sleep(sampleInterval)
		used, machine = time.Second, machine+2*time.Second
		if before, _ := want("after a restart", 3); before.CPU != 0 {
			t.Errorf("at its new start it had used %v", before.CPU)
		}
		s.forget("c")
		want("one of the same id", 4)
	})
}

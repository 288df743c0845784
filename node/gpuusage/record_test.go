package gpuusage

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"testing"
	"time"

	"pinion/gpu"
)

var devices = []gpu.Device{{UUID: "GPU-a", MemoryMiB: 1000}, {UUID: "GPU-b", MemoryMiB: 1000}}

func usage(uuid string, percent float64) gpu.Usage {
	used := 10 * percent
	return gpu.Usage{UUID: uuid, Utilization: &percent, MemoryUsedMiB: &used}
}

func TestAnHourIsKept(t *testing.T) {
	r, start := New(slog.New(slog.DiscardHandler)), time.Unix(1000, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * Interval) }
	const samples = 2000
	for i := range samples {
		r.Add(at(i), []gpu.Usage{usage("GPU-a", float64(i%2)*80), usage("GPU-b", 30)}, devices)
	}
	all := r.Samples("GPU-a", time.Time{})
	if len(all) != keptSamples || !all[0].At.Equal(at(samples-keptSamples)) || !all[keptSamples-1].At.Equal(at(samples-1)) {
		t.Errorf("%d samples from %v", len(all), all[0].At)
	}
	if last := all[keptSamples-1]; *last.Utilization != 80 || *last.MemoryUsedMiB != 800 || last.PowerWatts != nil {
		t.Errorf("the last: %+v", last)
	}
	if percent, ok := r.Utilization("GPU-a", at(samples-3)); !ok || percent != 40 {
		t.Errorf("the average of two samples: %v %v", percent, ok)
	}
	if percent, ok := r.Utilization("GPU-a", at(samples)); ok {
		t.Errorf("without a sample: %v", percent)
	}
	newest := r.Latest(at(samples))
	if len(newest.GPUs) != 2 || newest.GPUs[0].UUID != "GPU-a" || !newest.At.Equal(at(samples-1)) || len(newest.GPUs[1].Recent) != int(recent/Interval) || newest.GPUs[1].Recent[0] != 30 {
		t.Errorf("%+v", newest)
	}
}

// A GPU that falls silent has no newest sample, and its hour is kept while the host has it. One that the host lost is forgotten.
func TestAGPUFallsSilent(t *testing.T) {
	r, start := New(slog.New(slog.DiscardHandler)), time.Unix(1000, 0)
	r.Add(start, []gpu.Usage{usage("GPU-a", 1), usage("GPU-b", 2), usage("GPU-of-another", 3)}, devices)
	r.Add(start.Add(Interval), []gpu.Usage{usage("GPU-b", 2)}, devices)
	if n := r.Latest(start.Add(2 * Interval)); len(n.GPUs) != 1 || n.GPUs[0].UUID != "GPU-b" {
		t.Errorf("%+v", n)
	}
	if len(r.Samples("GPU-a", time.Time{})) != 1 || len(r.Samples("GPU-of-another", time.Time{})) != 0 {
		t.Error("a sample is lost, or is of a GPU that the host does not have")
	}
	r.Fail(errors.New("the driver hangs"))
	if n := r.Latest(start.Add(2 * Interval)); n.Problem != "the driver hangs" || !n.At.Equal(start.Add(Interval)) {
		t.Errorf("%+v", n)
	}
	if n := r.Latest(start.Add(stale + 2*Interval)); len(n.GPUs) != 0 || n.Problem == "" {
		t.Errorf("an old sample: %+v", n)
	}
	r.Add(start.Add(2*Interval), []gpu.Usage{usage("GPU-b", 2)}, devices[1:])
	if n := r.Latest(start.Add(2 * Interval)); n.Problem != "" || len(r.Samples("GPU-a", time.Time{})) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestALyingDriverIsDoubtedOnce(t *testing.T) {
	var log bytes.Buffer
	r := New(slog.New(slog.NewTextHandler(&log, nil)))
	lie := usage("GPU-a", 50)
	much, nothing := 1e9, math.NaN()
	lie.MemoryUsedMiB, lie.PowerWatts = &much, &nothing
	for i := range 3 {
		r.Add(time.Unix(int64(i), 0), []gpu.Usage{lie}, devices)
	}
	if g := r.Latest(time.Unix(3, 0)).GPUs[0]; *g.Utilization != 50 || g.MemoryUsedMiB != nil || g.PowerWatts != nil {
		t.Errorf("%+v", g)
	}
	if lines := bytes.Count(log.Bytes(), []byte("\n")); lines != 1 {
		t.Errorf("said %d times: %s", lines, &log)
	}
}

func TestEveryValueOfASampleIsKept(t *testing.T) {
	r, at, is := New(slog.New(slog.DiscardHandler)), time.Unix(1000, 0), func(v float64) *float64 { return &v }
	full := gpu.Usage{UUID: "GPU-a", Utilization: is(1), SMActivity: is(2), MemoryUsedMiB: is(3), PowerWatts: is(4), Celsius: is(5), ClockMHz: is(6), Slowdown: gpu.SlowPower,
		PCIeReceived: is(7), PCIeSent: is(8), NVLinkReceived: is(9), NVLinkSent: is(10)}
	r.Add(at, []gpu.Usage{full, {UUID: "GPU-b"}}, devices)
	for uuid, want := range map[string]gpu.Usage{"GPU-a": full, "GPU-b": {UUID: "GPU-b"}} {
		if got := r.Samples(uuid, time.Time{})[0].Usage; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
}

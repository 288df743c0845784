package history

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// What a task has used is spread over the days on which it ran, nothing of it is lost, and no more counts than what its GPUs can have done.
func TestTotalsAreSpreadOverTheDays(t *testing.T) {
	stopped := time.Date(2026, 1, 3, 6, 0, 0, 0, time.UTC)
	count := func(said gpuuse.Totals) (days int, sum usageSum, mid usageSum) {
		task := endedAt(2, stopped, 36*time.Hour) // two GPUs, from the first at 18 h to the third at 6 h
		task.Task.Containers[0].GPUTotals = &said
		sums := usageSums{}
		sums.count(&task)
		for k, s := range sums {
			sum = sum.plus(s)
			if k.day == dayOf(stopped)-1 {
				mid = s
			}
		}
		return len(sums), sum, mid
	}
	days, sum, mid := count(gpuuse.Totals{MeasuredSeconds: 200_001, BusySeconds: 100_003, Joules: 77_777_777_777})
	if days != 3 || sum.measured != 200_001 || sum.busy != 100_003 || sum.joules != 2_000_010_000 {
		t.Errorf("%d days, %+v", days, sum) // no GPU needs more than 10 kW
	}
	if mid.gpuSeconds != 2*86400 || mid.measured < 133_333 || mid.measured > 133_335 {
		t.Errorf("the day between: %+v", mid)
	}
	_, sum, _ = count(gpuuse.Totals{MeasuredSeconds: 1 << 60, BusySeconds: 1 << 61, Joules: -5})
	if sum.measured != sum.gpuSeconds || sum.busy != sum.measured || sum.joules != 0 {
		t.Errorf("a host that lies: %+v", sum)
	}
	if _, sum, _ = count(gpuuse.Totals{}); sum.measured != 0 || sum.gpuSeconds != 2*36*3600 {
		t.Errorf("nothing measured: %+v", sum)
	}
}

// A task that runs counts up to now, on the days on which it ran, for those who may see it.
func TestTasksThatRunAreSummedUpToo(t *testing.T) {
	s := fill(t, 0)
	now := time.Date(2026, 1, 3, 6, 0, 0, 0, time.UTC)
	running := endedAt(2, now, 36*time.Hour).Task
	running.LastStatus, running.Times.Stopped = spec.Running, time.Time{}
	running.Containers[0].GPUTotals = &gpuuse.Totals{MeasuredSeconds: 36 * 7200, BusySeconds: 36 * 3600}
	stopped, pending := running, running
	stopped.LastStatus, pending.Times.Started = spec.Stopped, time.Time{}
	ask := func(q ended.UsageQuery) ended.Usage {
		t.Helper()
		q.Running, q.Now = []*spec.Task{&running, &stopped, &pending}, now
		usage, err := s.Usage(q)
		if err != nil {
			t.Fatal(err)
		}
		return usage
	}
	if got := ask(ended.UsageQuery{}).Rows; len(got) != 1 || got[0].GPUSeconds != 36*7200 || got[0].BusyGPUSeconds != 36*3600 || got[0].Running != 1 || got[0].Tasks != 0 {
		t.Errorf("%+v", got)
	}
	if got := ask(ended.UsageQuery{By: []ended.Dimension{ended.ByDay}, Since: now.AddDate(0, 0, -1), Until: now.AddDate(0, 0, -1)}).Rows; len(got) != 1 || got[0].GPUSeconds != 2*86400 || got[0].Running != 0 {
		t.Errorf("the day between: %+v", got)
	}
	if got := ask(ended.UsageQuery{Allowed: func(string, string) bool { return false }}).Rows; len(got) != 0 {
		t.Errorf("for those who may not see it: %+v", got)
	}
}

// Sums of earlier versions have three numbers, with a checksum or without; a changed byte is found.
func TestSumsAreReadAsEveryVersionWroteThem(t *testing.T) {
	name := usageKey{day: 20_000, cluster: "default"}.encode()
	three := usageSum{tasks: 300, failed: 2, gpuSeconds: 70_000}
	bare := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 300), 2), 70_000)
	if text := three.encode(name); !bytes.Equal(text, append(bytes.Clone(bare), checksum(name, bare)...)) {
		t.Errorf("sums without totals are written as before: %x", text)
	}
	for what, text := range map[string][]byte{"the first version": bare, "the next": three.encode(name)} {
		if got, err := decodeSum(name, text); err != nil || got != three {
			t.Errorf("%s: %+v %v", what, got, err)
		}
	}
	six := three
	six.measured, six.busy, six.joules = 69_000, 1, 1<<40
	text := six.encode(name)
	if got, err := decodeSum(name, text); err != nil || got != six {
		t.Errorf("%+v %v", got, err)
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if got, err := decodeSum(name, damaged); err == nil {
			t.Errorf("byte %d is changed: %+v", i, got)
		}
	}
}

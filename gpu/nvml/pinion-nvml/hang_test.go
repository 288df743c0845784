//go:build cgo

package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// A GPU for which the driver hangs costs the time of one answer, once. The others are read, measured and given to containers meanwhile.
func TestADriverThatHangsForOneGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, cards := dgx(t)
		events := make(chan protocol.Event, 10)
		d.event = func(e protocol.Event) { events <- e }
		for _, card := range cards {
			card.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
		}
		uuid := wantHealth(t, "before", d, gpu.Healthy, gpu.Healthy)[1].UUID
		end := make(chan struct{})
		memory := cards[1].GetMemoryInfoFunc
		cards[1].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { <-end; return memory() }
		took := func(what string, want time.Duration, call func()) {
			t.Helper()
			began := time.Now()
			if call(); time.Since(began) != want {
				t.Errorf("%s takes %v, not %v", what, time.Since(began), want)
			}
		}
		took("the first inventory", answerTimeout, func() {
			devices := wantHealth(t, "while it hangs", d, gpu.Healthy, gpu.Hung, gpu.Healthy, gpu.Healthy)
			if len(devices) != 8 || devices[1].UUID != uuid || !strings.HasPrefix(devices[1].Problem, "the driver has not answered about it since 2000-01-01T00:00:00Z") {
				t.Errorf("%d devices, the second is %+v", len(devices), devices[1])
			}
		})
		if event := <-events; !strings.Contains(event.Text, "hangs for GPU 1") {
			t.Errorf("%+v", event)
		}
		took("everything after it", 0, func() {
			wantHealth(t, "again", d, gpu.Healthy, gpu.Hung, gpu.Healthy)
			if _, err := d.processes(uuid); err == nil || !strings.Contains(err.Error(), "has not answered about it since") {
				t.Errorf("its processes: %v", err)
			}
			if _, err := d.processes(cards[0].UUID); err != nil {
				t.Errorf("the processes of another one: %v", err)
			}
			if _, err := d.record(uuid); err == nil {
				t.Error("its record was read")
			}
		})
		close(end)
		if event := <-events; !strings.Contains(event.Text, "answers about GPU 1 again, after 10s") {
			t.Errorf("%+v", event)
		}
		wantHealth(t, "after it", d, gpu.Healthy, gpu.Healthy)
	})
}

// The use of a GPU for which the driver hangs is not known; that of the others is.
func TestTheUseOfOtherGPUsIsMeasuredWhileTheDriverHangsForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, cards := dgx(t)
		d.event = func(protocol.Event) {}
		end := make(chan struct{})
		for i, card := range cards {
			card.GetUUIDFunc = func() (string, nvml.Return) {
				if i == 2 {
					<-end
				}
				return card.UUID, nvml.SUCCESS
			}
			card.GetSamplesFunc = func(nvml.SamplingType, uint64) (nvml.ValueType, []nvml.Sample, nvml.Return) {
				return 0, nil, nvml.ERROR_NOT_FOUND
			}
			card.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 7}, nvml.SUCCESS }
			card.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
			card.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
			card.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
			card.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
			card.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
			card.GetFieldValuesFunc = func([]nvml.FieldValue) nvml.Return { return nvml.ERROR_NOT_SUPPORTED }
		}
		for range 2 {
			all, err := d.usage()
			if err != nil || len(all) != 7 || slices.ContainsFunc(all, func(u gpu.Usage) bool { return u.UUID == cards[2].UUID }) {
				t.Errorf("%+v, %v", all, err)
			}
		}
		close(end)
		synctest.Wait()
		if all, err := d.usage(); err != nil || len(all) != 8 {
			t.Errorf("after it: %+v, %v", all, err)
		}
	})
}

//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"pinion/gpu/nvml/protocol"
)

func TestEventsCarryTheXidAndTheDevice(t *testing.T) {
	named := &mock.Device{GetUUIDFunc: func() (string, nvml.Return) { return "GPU-a", nvml.SUCCESS }}
	unnamed := &mock.Device{GetUUIDFunc: func() (string, nvml.Return) { return "", nvml.ERROR_INVALID_ARGUMENT }}
	named.GetMigModeFunc = func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED }
	d, cards := dgx(t)
	partition(cards[0])
	xid := func(instance, compute uint32) nvml.EventData {
		return nvml.EventData{Device: cards[0], EventType: nvml.EventTypeXidCriticalError, EventData: 94, GpuInstanceId: instance, ComputeInstanceId: compute}
	}
	for _, c := range []struct {
		name string
		data nvml.EventData
		want protocol.Event
	}{
		{"an Xid of a MIG device", xid(9, 0), protocol.Event{UUID: "MIG-c", Xid: 94}},
		{"an Xid of a GPU instance", xid(9, unknownInstance), protocol.Event{UUID: "MIG-c", Xid: 94}},
		{"an Xid of an instance that is gone", xid(3, 0), protocol.Event{UUID: cards[0].UUID, Xid: 94}},
		{"an Xid of a whole GPU in MIG mode", xid(unknownInstance, unknownInstance), protocol.Event{UUID: cards[0].UUID, Xid: 94}},

		{"an Xid", nvml.EventData{Device: named, EventType: nvml.EventTypeXidCriticalError, EventData: 79}, protocol.Event{UUID: "GPU-a", Xid: 79}},
		{"an Xid of nobody", nvml.EventData{Device: unnamed, EventType: nvml.EventTypeXidCriticalError, EventData: 79}, protocol.Event{Xid: 79}},
		{"a memory error", nvml.EventData{Device: named, EventType: nvml.EventTypeDoubleBitEccError}, protocol.Event{UUID: "GPU-a", Text: "a double-bit error in the GPU's memory"}},
	} {
		if got := d.eventOf(c.data); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestAnErrorOfTheDriverIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []nvml.Return{nvml.ERROR_TIMEOUT, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_GPU_IS_LOST}
		var said []protocol.Event
		done, end := make(chan struct{}), make(chan struct{})
		set := &mock.EventSet{WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			if len(answers) == 0 {
				close(done)
				<-end
				panic("over")
			}
			ret := answers[0]
			answers = answers[1:]
			return nvml.EventData{}, ret
		}}
		d := &driver{event: func(e protocol.Event) { said = append(said, e) }}
		go func() { defer func() { recover() }(); d.pollEvents(set) }()
		<-done
		close(end)
		if len(said) != 1 || !strings.Contains(said[0].Text, "GPU_IS_LOST") {
			t.Errorf("said %+v", said)
		}
	})
}

func TestRequestsAreAnsweredInOrder(t *testing.T) {
	d, devices := dgx(t)
	devices[0].GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
	requests := `{"id":1,"kind":"processes","uuid":"` + devices[0].UUID + `"}` + "\n" + `{"id":2,"kind":"inventory"}` + "\n" + `{"id":3,"kind":"sing"}` + "\n"
	var messages bytes.Buffer
	must(t, serve(strings.NewReader(requests), &messages, d))
	var answers []protocol.Message
	for decoder := json.NewDecoder(&messages); ; {
		var m protocol.Message
		if err := decoder.Decode(&m); err == io.EOF {
			break
		} else {
			must(t, err)
		}
		answers = append(answers, m)
	}
	if len(answers) != 3 || answers[0].ID != 1 || len(answers[1].Inventory.Devices) != 8 || !strings.Contains(answers[2].Error, "sing") {
		t.Errorf("answers %+v", answers)
	}
}

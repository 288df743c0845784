//go:build cgo

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu/nvml/protocol"
)

// eventPollInterval is the delay of the event watcher after an error.
const eventPollInterval = 5 * time.Second

// watchEvents reports the driver's events until the process exits. Devices too old for events are left out: their health
// comes from the inventory alone.
func (d *driver) watchEvents() {
	set, ret := d.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		fmt.Fprintf(os.Stderr, "no events from the driver: %v\n", ret)
		return
	}
	count, _ := d.lib.DeviceGetCount()
	for index := range count {
		if err := d.registerEvents(set, index); err != nil {
			fmt.Fprintf(os.Stderr, "no events from GPU %d: %v\n", index, err)
		}
	}
	go d.pollEvents(set)
}

func (d *driver) registerEvents(set nvml.EventSet, index int) error {
	handle, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return ret
	}
	supported, ret := handle.GetSupportedEventTypes()
	if ret != nvml.SUCCESS {
		return ret
	}
	wanted := supported & (nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError)
	if ret := handle.RegisterEvents(wanted, set); ret != nvml.SUCCESS {
		return ret
	}
	return nil
}

// pollEvents reports events. An error of the driver is itself reported as an event, once until it changes: the inventory
// then shows which device failed.
func (d *driver) pollEvents(set nvml.EventSet) {
	last := nvml.SUCCESS
	for {
		data, ret := set.Wait(uint32(eventPollInterval.Milliseconds()))
		switch {
		case ret == nvml.SUCCESS:
			d.event(d.eventOf(data))
		case ret != nvml.ERROR_TIMEOUT:
			if ret != last {
				d.event(protocol.Event{Text: fmt.Sprintf("the driver's events cannot be read: %v", ret)})
			}
			time.Sleep(eventPollInterval)
		}
		last = ret
	}
}

func (d *driver) eventOf(data nvml.EventData) protocol.Event {
	event := protocol.Event{Text: "a double-bit error in the GPU's memory"}
	if data.EventType == nvml.EventTypeXidCriticalError {
		event = protocol.Event{Xid: data.EventData}
	}
	event.UUID = d.uuidOf(data)
	return event
}

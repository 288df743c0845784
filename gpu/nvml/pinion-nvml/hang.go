//go:build cgo

package main

import (
	"fmt"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// answerTimeout is the time after which the driver counts as hung for a device. Once the library is connected, it answers within milliseconds, and under
// load within some seconds.
const answerTimeout = 10 * time.Second

// noIndex stands for a device of which the index is not known.
const noIndex = -1

// hangs are the devices for which the driver hangs. The zero value is ready to use.
type hangs struct {
	known map[int][]gpu.Device // by index: as the last inventory had them for which the driver answered

	mu    sync.Mutex
	since map[int]time.Time // by index: when the call was made that has not returned
}

// hungError is the error of a call about a device for which the driver hangs.
type hungError struct{ since time.Time }

func (e hungError) Error() string {
	return "the driver has not answered about it since " + e.since.UTC().Format(time.RFC3339)
}

// ask calls f, which talks to the driver about the device with the index, and waits for what it returns. A call that does not return is left behind, and no
// other is made about that device until it has: a device for which the driver hangs costs one thread, and no other device anything. f must change nothing
// but what is the device's own.
func ask[T any](d *driver, index int, f func() T) (answer T, err error) {
	d.hangs.mu.Lock()
	since, hung := d.hangs.since[index]
	d.hangs.mu.Unlock()
	if hung {
		return answer, hungError{since}
	}
	began, answers := time.Now(), make(chan T, 1)
	go func() {
		found := f()
		d.hangs.mu.Lock()
		answers <- found
		_, late := d.hangs.since[index]
		delete(d.hangs.since, index)
		d.hangs.mu.Unlock()
		if late {
			d.event(protocol.Event{Text: fmt.Sprintf("the driver answers about GPU %d again, after %v", index, time.Since(began).Round(time.Second))})
		}
	}()
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case answer = <-answers:
		return answer, nil
	case <-timeout.C:
	}
	d.hangs.mu.Lock()
	select {
	case answer = <-answers: // in the last moment
		d.hangs.mu.Unlock()
		return answer, nil
	default:
	}
	if d.hangs.since == nil {
		d.hangs.since = map[int]time.Time{}
	}
	d.hangs.since[index] = began
	d.hangs.mu.Unlock()
	d.event(protocol.Event{Text: fmt.Sprintf("the driver hangs for GPU %d: it has not answered within %v", index, answerTimeout)})
	return answer, hungError{began}
}

// remember keeps the devices as they are, for a time in which the driver hangs for one.
func (h *hangs) remember(devices []gpu.Device) {
	if h.known == nil {
		h.known = map[int][]gpu.Device{}
	}
	for i := range devices {
		delete(h.known, devices[i].Index)
	}
	for i := range devices {
		h.known[devices[i].Index] = append(h.known[devices[i].Index], devices[i])
	}
}

// devices are those at an index, as they were before the driver hung for them.
func (h *hangs) devices(index int, why error) (all []gpu.Device) {
	for _, device := range h.known[index] {
		device.Health, device.Problem = gpu.Hung, why.Error()
		all = append(all, device)
	}
	return all
}

// indexOf is the index of a device that an inventory had, or of the GPU of a MIG device.
func (h *hangs) indexOf(uuid string) int {
	for index, devices := range h.known {
		for i := range devices {
			if devices[i].IsOf(uuid) {
				return index
			}
		}
	}
	return noIndex
}

//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu/nvml/protocol"
)

// serve answers requests until the input ends.
func serve(requests io.Reader, messages io.Writer, d *driver) error {
	out := &encoder{to: json.NewEncoder(messages)}
	d.event = func(e protocol.Event) { out.send(protocol.Message{Event: &e}) }
	lines := bufio.NewScanner(requests)
	for lines.Scan() {
		var request protocol.Request
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return fmt.Errorf("request %q: %w", lines.Text(), err)
		}
		if err := out.send(d.answer(request)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (d *driver) answer(request protocol.Request) protocol.Message {
	answer := protocol.Message{ID: request.ID}
	var err error
	switch request.Kind {
	case protocol.Inventory:
		inventory := d.inventory()
		answer.Inventory = &inventory
	case protocol.CDI:
		answer.CDI, err = d.cdi()
	case protocol.Processes:
		answer.Processes, err = d.processes(request.UUID)
	case protocol.Usage:
		answer.Usage, err = d.usage()
	case protocol.Exclusive:
		err = d.setComputeMode(request.UUID, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS)
	case protocol.NoExclusive:
		err = d.setComputeMode(request.UUID, nvml.COMPUTEMODE_DEFAULT)
	case protocol.Partition:
		err = d.partition(request.UUID, request.Layout)
	case protocol.Record:
		answer.Record, err = d.record(request.UUID)
	default:
		err = fmt.Errorf("unknown request %q", request.Kind)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// encoder writes one message a line; responses and events never interleave.
type encoder struct {
	mu sync.Mutex
	to *json.Encoder
}

func (s *encoder) send(m protocol.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Encode(m)
}

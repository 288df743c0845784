package events

import (
	"sync"

	"pinion/raftfsm"
)

// encodedEventMax is how many encoded events are kept. Clients that keep up are all within the newest few, and clients that
// resume together after a restart need the same ones at about the same time.
const encodedEventMax = 2048

// encodedEventCache holds events as they go over the wire, shared by all streams: the first that needs an event encodes it.
// Each event has one slot, from which a later one evicts it.
type encodedEventCache struct {
	envelope Envelope
	slots    [encodedEventMax]encodedEvent
}

// Envelope is a change as JSON in the envelope of EventBridge, with the ARNs of a region.
type Envelope func(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error)

type encodedEvent struct {
	mu     sync.Mutex
	change *raftfsm.Change
	region string
	text   []byte // never changed
}

// get returns the event of a change with the ARNs of a region. The text must not be changed.
func (c *encodedEventCache) get(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error) {
	slot := &c.slots[(change.Position.Index*7+uint64(change.Position.Offset))%encodedEventMax]
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.change == change && slot.region == region {
		return slot.text, nil
	}
	envelope, err := c.envelope(change, view, region)
	if err != nil {
		return nil, err
	}
	slot.text = encode(formatID(change.Position, view.Settings().Incarnation), string(change.Kind), envelope)
	slot.change, slot.region = change, region
	return slot.text, nil
}

// encode writes a server-sent event: id, kind, and the data on one line.
func encode(id, kind string, data []byte) []byte {
	text := make([]byte, 0, len(data)+len(id)+len(kind)+32)
	if id != "" {
		text = append(append(append(text, "id: "...), id...), '\n')
	}
	text = append(append(append(text, "event: "...), kind...), '\n')
	return append(append(append(text, "data: "...), data...), "\n\n"...)
}

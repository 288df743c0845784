package api

import (
	"sync"

	"pinion/api/ecs"
	"pinion/raftfsm"
)

// encodedEventMax is how many events are kept ready. Followers that keep up are all within the newest few, and others that
// go on together after a restart need the same ones at about the same time.
const encodedEventMax = 2048

// encodedEventCache are events as they go over the wire, which all followers share: each is made by the first who needs it. An event
// has one place, where another one takes it over later. The zero value is ready.
type encodedEventCache struct{ places [encodedEventMax]frame }

type frame struct {
	mu     sync.Mutex
	change *raftfsm.Change
	region string
	text   []byte // never changed
}

// of is the event of a change, as it is in a region, for everyone to read and nobody to change.
func (f *encodedEventCache) of(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error) {
	place := &f.places[(change.Position.Index*7+uint64(change.Position.Offset))%encodedEventMax]
	place.mu.Lock()
	defer place.mu.Unlock()
	if place.change == change && place.region == region {
		return place.text, nil
	}
	text, err := encodeFrame(change, view, region)
	if err != nil {
		return nil, err
	}
	place.change, place.region, place.text = change, region, text
	return text, nil
}

// encodeFrame writes an event in the form of server-sent events: id, kind, and the envelope on one line.
func encodeFrame(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error) {
	envelope, err := ecs.Event(change, view, region)
	if err != nil {
		return nil, err
	}
	return eventFrame(eventID(change.Position, view.Settings().Incarnation), string(change.Kind), envelope), nil
}

func eventFrame(id, kind string, data []byte) []byte {
	text := make([]byte, 0, len(data)+len(id)+len(kind)+32)
	if id != "" {
		text = append(append(append(text, "id: "...), id...), '\n')
	}
	text = append(append(append(text, "event: "...), kind...), '\n')
	return append(append(append(text, "data: "...), data...), "\n\n"...)
}

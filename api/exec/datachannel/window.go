package datachannel

import (
	"slices"
	"time"
)

// Window holds the messages that were sent and are not acknowledged. It is not safe for concurrent use.
//
// The client acknowledges each message once, and says nothing when it gets one again. A connection keeps the order of the messages, so what it
// acknowledges there has come after all that was sent before. Until it is ready for output it is different: it then drops output without
// a word, and acknowledges the output that follows.
type Window struct {
	next    int64 // sequence number of the next message
	unacked []sent
	inOrder bool // the client is ready for output
}

type sent struct {
	message *Message
	at      time.Time // when it was sent last
}

// Add numbers a message to be sent now, and keeps it until it is acknowledged.
func (w *Window) Add(m *Message, now time.Time) {
	if m.Sequence = w.next; m.Sequence == 0 {
		m.Flags = flagFirst
	}
	w.next++
	w.unacked = append(w.unacked, sent{m, now})
}

// Len is the number of messages that are not acknowledged.
func (w *Window) Len() int { return len(w.unacked) }

// Acknowledge forgets a message, and those before it once the client is ready for output; the acknowledgement of any other changes nothing.
func (w *Window) Acknowledge(sequence int64) {
	i := slices.IndexFunc(w.unacked, func(s sent) bool { return s.message.Sequence == sequence })
	if i < 0 {
		return
	}
	if i == 0 && w.unacked[0].message.PayloadType == Data {
		w.inOrder = true
	}
	first := i
	if w.inOrder {
		first = 0
	}
	w.unacked = slices.Delete(w.unacked, first, i+1)
}

// Overdue is the oldest message when it was sent before a time, and is then sent again now; nil otherwise. The client delivers messages in their order, so it
// is the only one that others wait for.
func (w *Window) Overdue(before, now time.Time) *Message {
	if len(w.unacked) == 0 || w.unacked[0].at.After(before) {
		return nil
	}
	w.unacked[0].at = now
	return w.unacked[0].message
}

// Resend is every message that is not acknowledged, the oldest first; they are sent again now.
func (w *Window) Resend(now time.Time) []*Message {
	again := make([]*Message, len(w.unacked))
	for i := range w.unacked {
		w.unacked[i].at = now
		again[i] = w.unacked[i].message
	}
	return again
}

// maxEarly is how many messages are kept that came before one that is missing.
const maxEarly = 32

// Order puts the messages of the other end into their order. It is not safe for concurrent use.
type Order struct {
	next  int64
	early map[int64]*Message
}

// Take hands m to deliver, and after it those that waited for it. It reports whether m is to be acknowledged: without room for it, it is not,
// and comes again.
func (o *Order) Take(m *Message, room bool, deliver func(*Message)) (acknowledge bool) {
	switch {
	case m.Sequence < o.next:
		return true // it was delivered, and its acknowledgement was lost
	case m.Sequence > o.next:
		return o.buffer(m)
	case !room:
		return false
	}
	for ; m != nil; m = o.early[o.next] {
		delete(o.early, o.next)
		o.next++
		deliver(m)
	}
	return true
}

// buffer keeps a copy of a message until its turn.
func (o *Order) buffer(m *Message) bool {
	if _, known := o.early[m.Sequence]; !known && len(o.early) >= maxEarly {
		return false
	}
	if o.early == nil {
		o.early = map[int64]*Message{}
	}
	kept := *m
	kept.Payload = slices.Clone(m.Payload)
	o.early[m.Sequence] = &kept
	return true
}

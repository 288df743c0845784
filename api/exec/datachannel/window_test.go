package datachannel

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func output(n int) *Message {
	return &Message{Type: Output, PayloadType: Data, Payload: fmt.Append(nil, n)}
}

func sequences(all []*Message) (numbers []int64) {
	for _, m := range all {
		numbers = append(numbers, m.Sequence)
	}
	return numbers
}

func TestUntilTheClientIsReadyEachMessageIsAcknowledgedByItself(t *testing.T) {
	now := time.Unix(0, 0)
	w := &Window{}
	for n := range 3 {
		w.Add(output(n), now)
	}
	w.Acknowledge(1) // of output that it keeps, while it has dropped the first
	if got := sequences(w.Resend(now)); !slices.Equal(got, []int64{0, 2}) {
		t.Errorf("%v are to be sent again", got)
	}
}

func TestAnAcknowledgementIsForAllBeforeIt(t *testing.T) {
	now := time.Unix(0, 0)
	w := &Window{}
	for n := range 4 {
		w.Add(output(n), now)
	}
	w.Acknowledge(0) // the client is ready
	w.Acknowledge(2) // the acknowledgement of 1 went with a link that was cut, and the client says nothing about 1 again
	if got := sequences(w.Resend(now)); !slices.Equal(got, []int64{3}) {
		t.Errorf("%v are to be sent again", got)
	}
}

func TestTheOldestMessageIsSentAgainInTime(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	w := &Window{}
	w.Add(output(0), at(0))
	w.Add(output(1), at(100))
	if m := w.Overdue(at(-1), at(50)); m != nil {
		t.Errorf("%d is overdue", m.Sequence)
	}
	if m := w.Overdue(at(50), at(250)); m == nil || m.Sequence != 0 {
		t.Errorf("%v is overdue", m)
	}
	if m := w.Overdue(at(200), at(300)); m != nil {
		t.Errorf("%d is overdue, which was sent again", m.Sequence)
	}
}

// Whatever order messages come in, and however often, each is delivered once and in its order, and what was not delivered or kept is not acknowledged.
func TestMessagesAreDeliveredInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const total = 60
		var delivered []int64
		o := &Order{}
		acknowledged := map[int64]bool{}
		for len(delivered) < total {
			n := rapid.Int64Range(max(0, int64(len(delivered))-3), min(total-1, int64(len(delivered))+40)).Draw(t, "sequence")
			room := rapid.Bool().Draw(t, "room")
			before := len(delivered)
			if o.Take(&Message{Sequence: n}, room, func(m *Message) { delivered = append(delivered, m.Sequence) }) {
				acknowledged[n] = true
			} else if acknowledged[n] {
				t.Fatalf("%d is not acknowledged again", n)
			}
			if !room && len(delivered) > before {
				t.Fatal("there was no room")
			}
			if len(o.early) > maxEarly {
				t.Fatalf("%d messages are kept", len(o.early))
			}
		}
		for i, n := range delivered {
			if n != int64(i) || !acknowledged[n] {
				t.Fatalf("delivered: %v", delivered)
			}
		}
	})
}

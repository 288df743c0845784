package logforward

import (
	"testing"
	"testing/synctest"
	"time"
)

// After a restart of the agent each log counts as one of an ended container, until its task is known to run.
func TestTheLogOfAContainerThatRunsTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &Forwarders{ended: make(chan struct{}, 1)}
		first, second := &forwarder{all: all}, &forwarder{all: all}
		first.over.Store(true)
		second.over.Store(true)
		turns := make(chan *sendSlot)
		take := func(f *forwarder) {
			taken, err := f.acquireSlot(t.Context())
			if err != nil {
				t.Error(err)
			}
			turns <- taken
		}
		go take(first)
		held := <-turns
		go take(second)
		synctest.Wait()
		second.over.Store(false)
		if none := <-turns; none.isOver() || none.slots != nil {
			t.Error("a log that is written has a turn")
		}
		second.over.Store(true)
		go take(second)
		time.Sleep(slotTime + time.Second)
		if !held.isOver() {
			t.Error("the first one keeps its turn while another one waits")
		}
		held.end()
		held.end()
		if next := <-turns; next.isOver() || next.slots == nil {
			t.Error("the second one has no turn")
		}
	})
}

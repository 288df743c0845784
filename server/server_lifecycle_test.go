package server

import (
	"os"
	"strings"
	"testing"

	"pinion/server/consensus"
)

// A server that does not end, as with a disk that hangs, may still write: its log stays where it is.
func TestALogIsNotMovedBeforeItsServerHasEnded(t *testing.T) {
	p := newPool(t)
	h := p.found(nil)
	member, own := h.member, h.member.localServer()
	done, err := own.node.AcquireCall()
	if err != nil {
		t.Fatal(err)
	}
	member.lifecycle.stopServer(own, "")
	if err := <-member.Fatal(); !strings.Contains(err.Error(), "did not end") {
		t.Errorf("the process ends saying %v", err)
	}
	if _, err := os.Stat(consensus.DirIn(member.cfg.Dir)); err != nil {
		t.Errorf("its log was moved: %v", err)
	}
	done()
	<-own.node.Done()
}

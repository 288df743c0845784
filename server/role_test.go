package server

import (
	"os"
	"strings"
	"testing"
)

// A server that does not end, as with a disk that hangs, may still write: its log stays where it is.
func TestALogIsNotMovedBeforeItsServerHasEnded(t *testing.T) {
	p := newPool(t)
	h := p.found(nil)
	member, own := h.member, h.member.localServer()
	_, done, err := serverAdapter{own}.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	member.role.stopServer(own, "")
	if err := <-member.Fatal(); !strings.Contains(err.Error(), "did not end") {
		t.Errorf("the process ends saying %v", err)
	}
	if _, err := os.Stat(member.cfg.raftDir()); err != nil {
		t.Errorf("its log was moved: %v", err)
	}
	done()
	<-own.node.Done()
}

package server

import (
	"errors"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// What a browser keeps of a login opens on whichever server leads next, together with the id of the login; nobody else reads it, and with the sealing
// key it ends.
func TestALoginOpensOnEveryServerAndNowhereElse(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	agent := p.join(3)[2]
	p.waitForVoters(3)
	const id, login = "ID", `{"code":"device-code"}`
	sealed, err := p.leader().member.Keys.SealLogin(t.Context(), id, login)
	if err != nil || strings.Contains(sealed, "device-code") {
		t.Fatalf("%q, %v", sealed, err)
	}
	for _, h := range p.hosts {
		if h.member.localServer() == nil {
			continue
		}
		eventually(t, "the server has the sealing key", func() bool {
			opened, err := h.member.Keys.OpenLogin(t.Context(), id, sealed)
			if err != nil && !errors.Is(err, spec.ErrUnavailable) {
				t.Fatal(err)
			}
			return opened == login
		})
		for what, c := range map[string]struct{ id, sealed string }{
			"another id": {"OTHER", sealed}, "changed": {id, sealed[:len(sealed)-4] + "AAAA"}, "no key": {id, "." + sealed}, "nothing": {id, ""}, "words": {id, "a b"},
		} {
			if opened, err := h.member.Keys.OpenLogin(t.Context(), c.id, c.sealed); err == nil || opened != "" || errors.Is(err, spec.ErrUnavailable) {
				t.Errorf("%s: %q, %v", what, opened, err)
			}
		}
	}
	if opened, err := agent.member.Keys.OpenLogin(t.Context(), id, sealed); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("an agent opens it: %q, %v", opened, err)
	}
	p.rotateSealingKey()
	p.waitUntilSealed()
	if opened, err := p.leader().member.Keys.OpenLogin(t.Context(), id, sealed); err == nil || errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("after a rotation: %q, %v", opened, err)
	}
}

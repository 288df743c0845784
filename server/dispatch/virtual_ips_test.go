package dispatch

import (
	"context"
	"encoding/json"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
)

// fakeLeases answers host "h" with the epoch that it says it has.
type fakeLeases struct{}

func (fakeLeases) Renew(_ context.Context, hostID string, r iplease.Request) (iplease.Answer, error) {
	if hostID != "h" {
		return iplease.Answer{}, spec.ErrNotFound
	}
	return iplease.Answer{Epoch: r.Held}, nil
}

// A host asks for itself, whatever it says: it is the one of its certificate.
func TestAHostAsksForVirtualIPsOverItsSession(t *testing.T) {
	a := openAgentEnd(t, &fakeServer{state: raftfsm.NewState()})
	defer a.hangUp()
	message := agentMessage{Seq: 2, VirtualIP: &iplease.Request{IP: "10.0.0.100", Starts: 3, Held: 5}}
	text, err := json.Marshal(message)
	if err != nil || string(text) != `{"seq":2,"virtualIP":{"ip":"10.0.0.100","starts":3,"held":5}}` {
		t.Fatalf("%s %v", text, err)
	}
	if err := a.Encode(message); err != nil {
		t.Fatal(err)
	}
	if reply := a.reply(t); reply.Error != nil || reply.Seq != 2 || reply.VirtualIP.Epoch != 5 {
		t.Errorf("%+v", reply)
	}
}

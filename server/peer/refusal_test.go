package peer

import (
	"crypto/tls"
	"net"
	"testing"
)

func TestAHandshakeThatIsRefusedIsReported(t *testing.T) {
	here, elsewhere := newPool(t), newPool(t)
	port := listen(t, here.first)
	reported := make(chan Refusal, 16)
	port.SetRefusals(func(r Refusal) { reported <- r })
	port.SetAuthorizer(func(hostID, _, _ string) error { return refuseIf(hostID == "removed") })
	servePreamble(port.API(), "api")
	if _, err := readReply(t, port.Addr().String(), clientConfig(certificate(t, here.host("host-2")), Peer), 7); err == nil {
		t.Error("a host is heard before there is anybody to hear it")
	}
	servePreamble(port.Peer(), "welcome")

	for _, c := range []struct {
		name, hostID string
		cert         *tls.Certificate
	}{
		{"no certificate", "", nil},
		{"a host of another pool", "host-2", certificate(t, elsewhere.host("host-2"))},
		{"a removed host", "removed", certificate(t, here.host("removed"))},
	} {
		if _, err := readReply(t, port.Addr().String(), clientConfig(c.cert, Peer), 7); err == nil {
			t.Errorf("%s is heard", c.name)
		}
		if r := <-reported; r.Operation != OpConnect || r.HostID != c.hostID || r.Address == "" || r.Reason == nil {
			t.Errorf("%s: %+v", c.name, r)
		}
	}

	broken, err := net.Dial("tcp", port.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	broken.Close()
	if got, err := readReply(t, port.Addr().String(), clientConfig(nil, "h2"), 3); got != "api" {
		t.Errorf("a client hears %q (%v)", got, err)
	}
	if got, err := readReply(t, port.Addr().String(), clientConfig(certificate(t, here.host("host-2")), Peer), 7); got != "welcome" {
		t.Errorf("a good host hears %q (%v)", got, err)
	}
	if len(reported) > 0 {
		t.Errorf("those who are let in, and who are gone: %+v", <-reported)
	}
}

package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/tracker"
)

// callsPerConnection is below what any listener allows.
const callsPerConnection = 10

// unending makes calls whose bodies do not end until end, and waits until so many are refused.
func (c caller) unending(t *testing.T, alpn, path string, calls, refused int) (end func()) {
	t.Helper()
	type hidden struct{ net.Conn }
	ctx, cancel := context.WithCancel(t.Context())
	var transports []*http.Transport
	for range (calls + callsPerConnection - 1) / callsPerConnection {
		transport := &http.Transport{
			Protocols: new(http.Protocols),
			// Calls that begin at once would each dial otherwise, and a host may have fewer connections than it makes calls here.
			MaxConnsPerHost: 1,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := c.dial(ctx, alpn)
				return hidden{conn}, err
			},
		}
		transport.Protocols.SetUnencryptedHTTP2(true)
		transports = append(transports, transport)
	}
	answers := make(chan string, calls)
	t.Cleanup(cancel)
	for n := range calls {
		body, write := io.Pipe()
		go func() { _, _ = io.WriteString(write, `{"hostId":"`) }()
		context.AfterFunc(ctx, func() { write.Close() })
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.at+path, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			answer, err := transports[n/callsPerConnection].RoundTrip(request)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			answers <- string(text)
		}()
	}
	for range refused {
		if text := <-answers; !strings.Contains(text, spec.ErrUnavailable.Error()) {
			t.Fatalf("it is answered %s", text)
		}
	}
	return func() {
		cancel()
		for range calls - refused {
			<-answers
		}
		for _, transport := range transports {
			transport.CloseIdleConnections()
		}
	}
}

// Anybody may ask to join, and every host may make calls, over as many connections as it likes: of one caller few are read at once, so that calls
// that never end hold little of a server's memory. Other hosts are heard meanwhile.
func TestCallsThatNeverEndHoldFewPlaces(t *testing.T) {
	const calls, most, mostLarge = 100, 64, 2
	r := newRights(t)
	anybody := caller{at: r.server.where}
	hosts := map[*testHost]caller{}
	for _, h := range []*testHost{r.a, r.b} {
		hosts[h] = caller{r.server.where, certOf(t, h)}
	}
	for name, k := range map[string]struct {
		caller     caller
		alpn, path string
		most       int
	}{
		"a stranger": {anybody, peer.Join, admission.PathJoin, most}, "a stranger who asks for a removal": {anybody, peer.Join, admission.PathRemovalStatus, most},
		"an agent": {hosts[r.a], peer.Peer, membership.PathRole, most}, "an agent whose calls may be large": {hosts[r.a], peer.Peer, tracker.PathRequest, mostLarge},
	} {
		t.Run(name, func(t *testing.T) {
			end := k.caller.unending(t, k.alpn, k.path, calls, calls-k.most)
			if status, text := hosts[r.b].post(t, peer.Peer, membership.PathRole, struct{}{}); status != http.StatusOK {
				t.Errorf("another host is answered %d %s", status, text)
			}
			end()
			eventually(t, "it is heard again", func() bool {
				_, text := k.caller.post(t, k.alpn, k.path, struct{}{})
				return len(text) > 0 && !strings.Contains(string(text), spec.ErrUnavailable.Error())
			})
		})
	}
}

// The answer to a host that asks for its role stands behind an entry in the log of every server. Whoever asks together shares one, so that root of one
// agent does not fill the logs.
func TestHostsThatAskForTheirRolesShareABarrier(t *testing.T) {
	const together, times, most = 32, 20, 100
	r := newRights(t)
	agent := caller{r.server.where, certOf(t, r.a)}
	var asking sync.WaitGroup
	before := r.server.member.localServer().node.Raft().LastIndex()
	for range together {
		asking.Go(func() {
			for range times {
				if status, text := agent.post(t, peer.Peer, membership.PathRole, struct{}{}); status != http.StatusOK || !strings.Contains(string(text), `"Server":false`) {
					t.Errorf("it is answered %d %s", status, text)
				}
			}
		})
	}
	asking.Wait()
	if grown := r.server.member.localServer().node.Raft().LastIndex() - before; grown > most {
		t.Errorf("the log has %d more entries for %d questions", grown, together*times)
	} else {
		t.Logf("%d entries for %d questions", grown, together*times)
	}
}

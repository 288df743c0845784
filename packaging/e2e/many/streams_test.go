package many

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// streams are clients that begin streams of two seconds at a constant rate, through the listener of each host in turn.
type streams struct {
	t      *testing.T
	of     request
	http   http.Client
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	whole  int
	failed map[string][]error // by the name of the host whose listener was asked
}

// request is what a client asks streamserver for, and how the answer ends when it is whole.
type request struct{ path, end string }

var (
	stream = request{"/", "data: done\n\n"}
	health = request{"/health", "ok\n"}
	later  = request{"/later", "ok\n"} // idempotent, and without an answer for half a second
)

// startStreams begins rate streams a second until stop.
func (p *pool) startStreams(t *testing.T, port uint16, rate int) *streams {
	t.Helper()
	return p.startRequests(t, stream, p.Dial, port, rate)
}

// startRequests is startStreams for other requests, of clients that connect in a way of their own.
func (p *pool) startRequests(t *testing.T, of request, dial func(ctx context.Context, network, address string) (net.Conn, error), port uint16, rate int) *streams {
	t.Helper()
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 10 * rate}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	s := &streams{t: t, of: of, http: http.Client{Transport: transport}, cancel: cancel, failed: map[string][]error{}}
	t.Cleanup(func() { s.stop() })
	s.all.Go(func() {
		for n := 0; ; n++ {
			testbed.Rest(ctx, time.Second/time.Duration(rate))
			if ctx.Err() != nil {
				return
			}
			h := p.Hosts()[n%len(p.Hosts())]
			s.all.Go(func() { s.note(h.Name, s.read(netip.AddrPortFrom(h.IP, port).String())) })
		}
	})
	return s
}

// read is one stream from its beginning to its end. The end of the load does not cut it off.
func (s *streams) read(address string) error {
	response, err := s.http.Get("http://" + address + s.of.path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !strings.HasSuffix(string(body), s.of.end)) {
		err = fmt.Errorf("%s: %.200q", response.Status, body)
	}
	return err
}

func (s *streams) note(host string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.whole++
		return
	}
	s.failed[host] = append(s.failed[host], err)
}

// stop begins no more streams and waits for the last one.
func (s *streams) stop() {
	s.cancel()
	s.all.Wait()
}

// mustBeWhole stops the load, and fails if a stream was cut short that did not go through the listener of a host that was killed.
func (s *streams) mustBeWhole(killed ...*testbed.Host) {
	s.t.Helper()
	s.stop()
	for host, errs := range s.failed {
		if slices.ContainsFunc(killed, func(h *testbed.Host) bool { return h.Name == host }) {
			s.t.Logf("through %s, which was killed, %d streams failed, the first with: %v", host, len(errs), errs[0])
		} else {
			s.t.Errorf("through %s %d streams failed: %v", host, len(errs), errors.Join(errs[:min(3, len(errs))]...))
		}
	}
	if s.t.Logf("%d streams were whole", s.whole); s.whole == 0 {
		s.t.Error("no stream was whole")
	}
}

// answers reports whether the listener of a host has a target for a request.
func (s *streams) answers(h *testbed.Host, port uint16) bool {
	response, err := s.http.Get("http://" + net.JoinHostPort(h.IP.String(), fmt.Sprint(port)) + "/health")
	if err != nil {
		return false
	}
	return errors.Join(response.Body.Close()) == nil && response.StatusCode == http.StatusOK
}

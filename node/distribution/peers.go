package distribution

import (
	"context"
	"errors"
	"io"
	"time"

	"pinion/raftfsm/blob"
)

const (
	// firstByte bounds the wait for the first byte of another host, and between two bytes.
	firstByte = 2 * time.Second
	// leastRate is the least rate of another host, in bytes a second; below it the piece comes from elsewhere.
	leastRate = 128 << 10
	// unreachableFor is the time for which a host that failed is not asked, liedFor one that gave wrong bytes, busyFor one that refused
	// as busy; after mostBusy such answers it has failed.
	unreachableFor = 30 * time.Second
	liedFor        = 10 * time.Minute
	busyFor        = 100 * time.Millisecond
	mostBusy       = 100
)

// peers are the hosts that the tracker has named for a download.
type peers struct {
	named   map[string]blob.Pieces // what they had then
	lacking map[string]time.Time   // those that have less than the tracker says are not asked until then
	busy    map[string]*busyPeer
}

// busyPeer is a host that gives others as much as it may.
type busyPeer struct {
	until   time.Time
	answers int // in a row
}

func (p peers) add(more []blob.Peer) {
	for _, m := range more {
		p.named[m.Host] = m.Has
	}
}

// mayAsk reports whether a host may be asked now.
func (p peers) mayAsk(host string) bool {
	b := p.busy[host]
	return time.Now().After(p.lacking[host]) && (b == nil || time.Now().After(b.until))
}

// avoided are the hosts that lack blobs which the tracker says they have.
func (p peers) avoided() (hosts []string) {
	for host, until := range p.lacking {
		if time.Now().Before(until) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// isBusy has a host asked again a moment later; false: it has been busy for too long.
func (p peers) isBusy(host string) bool {
	b := p.busy[host]
	if b == nil {
		b = &busyPeer{}
		p.busy[host] = b
	}
	b.answers++
	b.until = time.Now().Add(busyFor)
	return b.answers < mostBusy
}

// errPeerSlow is the error of a host that sends too little.
var errPeerSlow = errors.New("it sends too little")

// readPeer is Peers.Read from a host that has to send enough.
func (x *BlobPeer) readPeer(ctx context.Context, host, digest string, offset, length int64) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	slow := func() { cancel(errPeerSlow) }
	end := time.AfterFunc(firstByte+time.Duration(length)*time.Second/leastRate, slow)
	next := time.AfterFunc(firstByte, slow)
	body, size, err := (*x.peers.Load()).Read(ctx, host, digest, offset, length)
	if err != nil {
		end.Stop()
		next.Stop()
		cancel(nil)
		if errors.Is(context.Cause(ctx), errPeerSlow) {
			err = errPeerSlow
		}
		return nil, 0, err
	}
	return &peerBody{ReadCloser: body, ctx: ctx, cancel: cancel, end: end, next: next}, size, nil
}

// peerBody is the answer of another host.
type peerBody struct {
	io.ReadCloser
	ctx       context.Context
	cancel    context.CancelCauseFunc
	end, next *time.Timer
}

func (b *peerBody) Read(p []byte) (int, error) {
	b.next.Reset(firstByte)
	n, err := b.ReadCloser.Read(p)
	b.next.Stop()
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), errPeerSlow) {
		err = errPeerSlow
	}
	return n, err
}

func (b *peerBody) Close() error {
	b.end.Stop()
	b.next.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

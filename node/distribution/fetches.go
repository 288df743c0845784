package distribution

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"pinion/raftfsm/blob"
)

// rangeTries bounds the requests for a piece by its range; then the blob is asked for as a whole.
const rangeTries = 3

// ErrNoRanges is the error of a registry that gives no parts of blobs.
var ErrNoRanges = errors.New("the registry gives no parts of blobs")

// grant takes in where the tracker says that pieces are. What neither a host nor the registry gives cannot be had, unless other hosts may have it after all: known
// is false while there is no tracker, or one that not all hosts have told yet what they have. That is waited for as long as for a document.
func (d *Download) grant(g blob.Sources, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g.Take = append(d.granted.Take, g.Take...)
	waited := time.Duration(0) // for a piece, while this host fetches none
	if len(d.pieces.fetches) == 0 && !d.state.streaming && !d.pieces.complete() {
		waited = time.Since(d.state.progressAt)
	}
	d.state.alone = d.state.alone || waited > patience
	g.Whole = g.Whole || d.state.alone // whatever other hosts are to bring
	d.granted = g
	d.peers.add(g.Peers)
	d.dispatch()
	known = known || time.Since(d.state.registryAt) > documentTimeout
	nowhere := known && !g.Coming && len(g.Peers) == 0 || waited > 10*patience
	if d.state.registry != nil && nowhere && len(d.pieces.fetches) == 0 && !d.pieces.complete() {
		d.fail(d.state.registry)
	}
}

// noRegistry notes that the registry does not give the blob.
func (d *Download) noRegistry(err error) {
	if d.state.registry == nil {
		d.state.registryAt = time.Now()
	}
	d.state.registry = err
}

func (d *Download) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.notify()
}

// dispatch starts as many fetches as the bounds allow, of the pieces that can be had.
func (d *Download) dispatch() {
	if d.cancel == nil || !d.state.started || d.err != nil || d.pieces.complete() {
		return
	}
	for d.pieces.fetchesFrom(fromRegistry) < registryFetches && d.state.registry == nil {
		piece, ok := d.nextTaken()
		if !ok {
			break
		}
		d.beginFetch(piece, fromRegistry, d.fromRegistry)
	}
	if d.granted.Whole && d.state.noRanges && !d.state.streaming && d.state.registry == nil && d.pieces.fetchesFrom(fromRegistry) == 0 { // else it would skip these
		d.state.streaming = true
		go stream{d}.run(d.ctx)
	}
	for len(d.pieces.fetches)-d.pieces.fetchesFrom(fromRegistry) < peerFetches {
		piece, host, ok := d.nextOfPeers()
		if !ok {
			return
		}
		d.beginFetch(piece, host, func(ctx context.Context, piece int) error { return d.fromPeer(ctx, host, piece) })
	}
}

// nextTaken is the next piece that this host is to fetch from the registry: one that the tracker gave it, or any when it is by itself.
func (d *Download) nextTaken() (piece int, ok bool) {
	for len(d.granted.Take) > 0 {
		piece, d.granted.Take = d.granted.Take[0], d.granted.Take[1:]
		if piece >= 0 && piece < d.count && d.pieces.missing(piece) && !d.state.noRanges {
			return piece, true
		}
	}
	if !d.granted.Whole || d.state.noRanges {
		return 0, false
	}
	for piece := range d.count {
		if d.pieces.missing(piece) {
			return piece, true
		}
	}
	return 0, false
}

// nextOfPeers is a piece at random that a host has which may be asked.
func (d *Download) nextOfPeers() (piece int, host string, ok bool) {
	first := rand.IntN(d.count)
	for i := range d.count {
		piece := (first + i) % d.count
		if !d.pieces.missing(piece) {
			continue
		}
		for _, k := range rand.Perm(len(d.granted.Peers)) {
			p := d.granted.Peers[k]
			if p.Has.Has(piece) && d.pieces.fetchesFrom(p.Host) < fetchesOfPeer && d.peers.mayAsk(p.Host) {
				return piece, p.Host, true
			}
		}
	}
	return 0, "", false
}

// beginFetch begins to fetch a piece, on a goroutine of its own.
func (d *Download) beginFetch(piece int, source string, fetch func(context.Context, int) error) {
	d.pieces.fetches[piece] = source
	ctx := d.ctx
	go func() { d.endFetch(ctx, piece, source, fetch(ctx, piece)) }()
}

// endFetch takes in how a fetch ended.
func (d *Download) endFetch(ctx context.Context, piece int, source string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pieces.fetches, piece)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		d.arrived(piece, source)
	case source == fromRegistry:
		d.registryFailed(piece, err)
	default:
		d.peerFailed(source, err)
	}
	d.dispatch()
	if len(d.pieces.fetches) == 0 || len(d.granted.Take) == 0 && source == fromRegistry {
		d.x.wakeUp() // nothing more is to be had until the tracker says so
	}
}

func (d *Download) arrived(piece int, source string) {
	d.pieces.have.Add(piece)
	d.pieces.sources[piece] = source
	d.state.progressAt = time.Now()
	delete(d.peers.busy, source)
	if source == fromRegistry {
		d.pieces.share.Add(piece)
	} else if d.received != nil {
		_, n := d.bounds(piece)
		d.received(n)
	}
	d.notify()
}

// registryFailed has a piece fetched again. A registry that gives no parts, or fails at them, is asked for the whole.
func (d *Download) registryFailed(piece int, err error) {
	d.tries[piece]++
	switch {
	case d.count == 1:
		d.noRegistry(err)
	case errors.Is(err, ErrNoRanges) || d.tries[piece] >= rangeTries:
		d.state.noRanges = true
	default:
		d.granted.Take = append(d.granted.Take, piece)
	}
}

// peerFailed has a host asked less for a while.
func (d *Download) peerFailed(host string, err error) {
	switch {
	case errors.Is(err, blob.ErrBusy) && d.peers.isBusy(host):
	case errors.Is(err, blob.ErrNotHere):
		d.peers.lacking[host] = time.Now().Add(unreachableFor)
	default:
		d.peers.lacking[host] = time.Now().Add(unreachableFor)
		d.x.avoid.add(host, unreachableFor)
		d.x.config.Log.Info("a host does not give a blob that it has; it comes from elsewhere", "hostId", host, "blob", d.digest, "error", err)
	}
}

// fromRegistry fetches a piece. A blob of one piece is asked for without a range, as manifests have to be.
func (d *Download) fromRegistry(ctx context.Context, piece int) error {
	select {
	case d.x.slots <- struct{}{}:
		defer func() { <-d.x.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	offset, length := d.bounds(piece)
	open := func() (io.ReadCloser, error) { return d.from.Range(ctx, offset, length) }
	if d.count == 1 {
		open = func() (io.ReadCloser, error) { return d.from.OpenFrom(ctx, 0) }
	}
	body, err := open()
	if err != nil {
		return err
	}
	defer body.Close()
	return d.write(piece, body)
}

// fromPeer fetches a piece from a host, which has to send enough.
func (d *Download) fromPeer(ctx context.Context, host string, piece int) error {
	offset, length := d.bounds(piece)
	body, _, err := d.x.readPeer(ctx, host, d.digest.String(), offset, length)
	if err != nil {
		return err
	}
	defer body.Close()
	return d.write(piece, body)
}

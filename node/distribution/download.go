package distribution

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

const (
	registryFetches = 8 // pieces of one blob that come from the registry at a time
	peerFetches     = 6 // and from other hosts
	fetchesOfPeer   = 2 // of these, from one host
	linger          = time.Minute
	// patience bounds the wait of a download for pieces of other hosts. Then the blob comes from the registry; without one a download waits ten times as long.
	patience = time.Minute
)

// Download is one blob on its way to this host.
type Download struct {
	pieceFile
	x        *BlobPeer
	digest   digest.Digest
	from     Registry
	received func(int64)

	mu      sync.Mutex
	changed chan struct{}      // closed and made anew when something below has changed
	cancel  context.CancelFunc // ends the fetches; nil: nobody reads
	ctx     context.Context    // of the fetches
	pieces  pieces
	granted blob.Sources
	peers   peers
	tries   map[int]int // failed fetches of a piece from the registry
	state   state
	serving int   // hosts that read it
	err     error // why the blob cannot be had; nil: it can
}

// state is the progress of a download.
type state struct {
	started    bool      // its pieces are asked for
	noRanges   bool      // the registry gives the blob as a whole alone
	streaming  bool      // it is doing so
	verified   bool      // all of it was checked against the digest
	registry   error     // why it does not give the blob; nil: it may
	registryAt time.Time // since when
	progressAt time.Time // when a piece came last, or the download began
	alone      bool      // it has waited long enough for other hosts
	retried    bool      // it was wrong, and what one host gave was dropped
	dropped    string    // that host, until the blob is right, or is wrong again
}

// fromRegistry is the source of pieces that no host gave.
const fromRegistry = ""

func newDownload(x *BlobPeer, d digest.Digest, size int64, from Registry, received func(int64)) (*Download, error) {
	if size <= 0 || size > blob.MaxSize {
		return nil, fmt.Errorf("blob %s is said to have %d bytes", d, size)
	}
	file, err := newPieceFile(x.config.Dir, size)
	if err != nil {
		return nil, err
	}
	return &Download{
		pieceFile: file, x: x, digest: d, from: from, received: received,
		changed: make(chan struct{}), pieces: newPieces(file.count), tries: map[int]int{},
		peers: peers{named: map[string]blob.Pieces{}, lacking: map[string]time.Time{}, busy: map[string]*busyPeer{}},
	}, nil
}

func (d *Download) isOpen() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cancel != nil
}

// open begins to be read; false: it is read already.
func (d *Download) open(ctx context.Context) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		return false
	}
	d.ctx, d.cancel = context.WithCancel(ctx)
	return true
}

// release ends a reader. What it leaves is kept for other hosts until the store has it, and forgotten if it is not all there.
func (d *Download) release() {
	d.mu.Lock()
	d.cancel()
	d.cancel = nil
	keep := d.state.verified || d.state.dropped != ""
	d.mu.Unlock()
	if !keep {
		d.x.drop(d)
		return
	}
	time.AfterFunc(linger, func() {
		if !d.isOpen() {
			d.x.drop(d)
		}
	})
}

// close ends the fetches and lets go of the file.
func (d *Download) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
	d.err = errors.Join(d.err, os.ErrClosed)
	if d.serving == 0 {
		d.file.Close()
	}
	d.notify()
}

// notify wakes the readers that wait for pieces.
func (d *Download) notify() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// start begins to fetch, from the piece with this byte on: what is before it is not wanted.
func (d *Download) start(offset int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.started {
		return
	}
	d.state.started, d.state.progressAt = true, time.Now()
	for i := range int(offset / blob.PieceSize(d.size)) {
		d.pieces.have.Add(i)
	}
	d.x.wakeUp()
}

// await waits until a piece is here.
func (d *Download) await(ctx context.Context, piece int) error {
	for {
		d.mu.Lock()
		here, err, changed := d.pieces.have.Has(piece), d.err, d.changed
		d.mu.Unlock()
		switch {
		case err != nil:
			return err
		case here:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.x.ctx.Done():
			return d.x.ctx.Err()
		}
	}
}

// want is the download's part of a request to the tracker; asks is false before it begins and when nobody can get anything of it.
func (d *Download) want(avoid []string) (w blob.Want, asks bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.started || d.err != nil || d.cancel == nil && !d.state.verified {
		return w, false
	}
	w = blob.Want{
		Digest: d.digest.String(), Size: d.size, Have: slices.Clone(d.pieces.have), Share: slices.Clone(d.pieces.share),
		Take: max(0, 2*registryFetches-len(d.granted.Take)-d.pieces.fetchesFrom(fromRegistry)), NoRanges: d.state.noRanges, NoRegistry: d.state.registry != nil,
	}
	w.Avoid = append(d.peers.avoided(), avoid...)
	w.Avoid = w.Avoid[:min(len(w.Avoid), blob.MaxAvoid)]
	return w, true
}

// serve lets another host read these bytes until served is called; false: it may not.
func (d *Download) serve(offset, length int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || offset+length > d.size {
		return false
	}
	piece := blob.PieceSize(d.size)
	for i := int(offset / piece); int64(i)*piece < offset+length; i++ {
		if !d.pieces.share.Has(i) {
			return false
		}
	}
	d.serving++
	return true
}

// served ends serve.
func (d *Download) served() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serving--
	if d.serving == 0 && errors.Is(d.err, os.ErrClosed) {
		d.file.Close()
	}
}

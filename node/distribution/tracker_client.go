package distribution

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

const (
	// askTimeout bounds one question to the tracker; a host whose pool has no leader goes to the registry by itself.
	askTimeout = 3 * time.Second
	// askPause is the least time between two questions, so that what several blobs need is asked together.
	askPause = 10 * time.Millisecond
	// tellInterval is the time between two reports of a host that fetches nothing.
	tellInterval = time.Minute
)

// askLoop tells the tracker which blobs this host has, and asks for sources of those that it lacks.
func (x *BlobPeer) askLoop() {
	for x.ctx.Err() == nil {
		changed := x.trackerChanged()
		again := x.ask()
		select {
		case <-x.ctx.Done():
			return
		case <-time.After(askPause):
		}
		select {
		case <-x.ctx.Done():
		case <-x.wake:
		case <-changed:
		case <-time.After(again):
		}
	}
}

// trackerChanged is closed when there is another tracker; nil without hosts to ask.
func (x *BlobPeer) trackerChanged() <-chan struct{} {
	if p := x.peers.Load(); p != nil {
		return (*p).Changed()
	}
	return nil
}

// ask asks once, and returns when to ask again at the latest.
func (x *BlobPeer) ask() time.Duration {
	request, asking, told := x.request()
	request.Images = x.images()
	ctx, cancel := context.WithTimeout(x.ctx, askTimeout)
	defer cancel()
	answer, err := x.askTracker(ctx, request)
	if err == nil && answer.Epoch != request.Epoch && !request.Full {
		x.forgetTold()
		request, asking, told = x.request()
		request.Images = x.images()
		answer, err = x.askTracker(ctx, request)
	}
	if x.ctx.Err() != nil {
		return 0
	}
	x.noteTracker(err, len(asking))
	if err != nil {
		if request.Images != nil {
			x.tellImages()
		}
		for _, d := range asking {
			d.grant(blob.Sources{Whole: true}, errors.Is(err, errNoPeers))
		}
		return askTimeout
	}
	x.mu.Lock()
	if x.added = x.added[min(told.added, len(x.added)):]; told.generation == x.generation {
		x.epoch = answer.Epoch // else blobs have gone meanwhile, and it is told all
	}
	x.mu.Unlock()
	if answer.Kept != nil && x.config.Keep != nil {
		x.config.Keep(answer.Kept.List)
	}
	for i, d := range asking {
		if i < len(answer.Grants) {
			d.grant(answer.Grants[i], !answer.Settling)
		}
	}
	if len(asking) == 0 {
		return tellInterval
	}
	return time.Duration(answer.AgainMillis) * time.Millisecond
}

// blobReport is the part of a request that reports blobs: how many were added, and the generation of what the tracker knows.
type blobReport struct{ added, generation int }

// request makes the next request to the tracker; asking are its downloads, told is what it reports.
func (x *BlobPeer) request() (r blob.Request, asking []*Download, told blobReport) {
	avoid := x.avoid.list()
	x.mu.Lock()
	defer x.mu.Unlock()
	r.Epoch, told = x.epoch, blobReport{len(x.added), x.generation}
	r.Held = slices.Clone(x.added)
	for _, d := range x.downloads {
		if want, asks := d.want(avoid); asks && len(asking) < blob.MaxWants {
			r.Wants = append(r.Wants, want)
			asking = append(asking, d)
		}
	}
	if r.Epoch == "" {
		r.Full, r.Held = true, x.held()
	}
	return r, asking, told
}

// images are the images of this host, nil when the tracker knows them or they cannot be listed.
func (x *BlobPeer) images() *blob.Images {
	x.mu.Lock()
	known := x.named || x.peers.Load() == nil
	x.named = x.named || !known // what comes from now on is told the next time
	x.mu.Unlock()
	if known {
		return nil
	}
	list, err := x.config.Store.Images(x.ctx)
	if err != nil {
		x.config.Log.Warn("the images on this host cannot be listed, so `pinion image ls` lacks them", "error", err)
		x.tellImages()
		return nil
	}
	return &blob.Images{List: list[:min(len(list), blob.MaxImages)]}
}

// held are the digests of all blobs that are whole here, as many as the tracker takes.
func (x *BlobPeer) held() (held []string) {
	digests, err := x.config.Store.Digests(x.ctx)
	if err != nil {
		x.config.Log.Warn("the blobs on this host cannot be listed, so other hosts fetch them elsewhere", "error", err)
	}
	for _, d := range digests[:min(len(digests), blob.MaxHeld)] {
		held = append(held, d.String())
	}
	return held
}

// noteTracker says once that the tracker does not answer, and once that it does again.
func (x *BlobPeer) noteTracker(err error, asking int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, errNoPeers) && asking > 0 && !x.alone:
		x.alone = true
		x.config.Log.Warn("the leader does not say which hosts have an image: it comes from the registry alone", "error", err)
	case err == nil && x.alone:
		x.alone = false
		x.config.Log.Info("the leader says again which hosts have images")
	}
}

// shared returns an arriving blob.
func (x *BlobPeer) shared(d digest.Digest) *Download {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.downloads[d]
}

// forgetTold has the tracker told all: it may have heard nothing yet.
func (x *BlobPeer) forgetTold() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.epoch, x.named = "", false
	x.generation++
}

// tellImages has the images told again with the next request.
func (x *BlobPeer) tellImages() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.named = false
}

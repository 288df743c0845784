package distribution

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

const (
	// documentTimeout bounds how long hosts are asked for a document, until it comes from the registry.
	documentTimeout = 15 * time.Second
	// settlePause is the time between two questions to a tracker that is new.
	settlePause = 200 * time.Millisecond
)

// Document reads a small blob, such as a manifest, of which nothing but its digest is known, from a host that has it: at most so many
// bytes, which were checked. It waits until a new tracker has been told by all hosts what they have. The error wraps blob.ErrNotHere if
// no host gives it.
func (x *BlobPeer) Document(ctx context.Context, d digest.Digest, most int64) ([]byte, error) {
	var text []byte
	err := x.askAboutOne(ctx, "blob "+d.String(), func(ctx context.Context) (found, settling bool, err error) {
		answer, err := x.askTracker(ctx, blob.Request{Wants: []blob.Want{{Digest: d.String(), Avoid: x.avoid.list()}}})
		if err == nil {
			text = x.documentFrom(ctx, answer, d, most)
		}
		return text != nil, answer.Settling, err
	})
	return text, err
}

// ResolvedTag is what a tag meant to another host of the cluster when that asked its registry last. It waits as Document does. The error wraps
// blob.ErrNotHere if no host knows.
func (x *BlobPeer) ResolvedTag(ctx context.Context, tag string) (m blob.ResolvedTag, err error) {
	err = x.askAboutOne(ctx, "tag "+tag, func(ctx context.Context) (found, settling bool, err error) {
		answer, err := x.askTracker(ctx, blob.Request{Tag: tag})
		if answer.ResolvedTag != nil {
			m = *answer.ResolvedTag
		}
		return answer.ResolvedTag != nil && !answer.Settling, answer.Settling, err // until then it may have meant something else later
	})
	return m, err
}

// askAboutOne asks until something is found, or a tracker that was told by all hosts knows none that has it.
func (x *BlobPeer) askAboutOne(ctx context.Context, what string, ask func(context.Context) (found, settling bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	for {
		found, settling, err := ask(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", blob.ErrNotHere, err)
		case found:
			return nil
		case !settling:
			return fmt.Errorf("%s: %w", what, blob.ErrNotHere)
		}
		x.wakeUp() // this host may be one that has told nothing
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, blob.ErrNotHere)
		case <-time.After(settlePause):
		}
	}
}

// documentFrom reads a document from the hosts that an answer names; nil: none gives it.
func (x *BlobPeer) documentFrom(ctx context.Context, answer blob.Answer, d digest.Digest, most int64) []byte {
	for _, g := range answer.Grants {
		for _, p := range g.Peers {
			text, err := x.readDocument(ctx, p.Host, d, most)
			if err == nil {
				return text
			}
			x.config.Log.Debug("a host does not give a document", "hostId", p.Host, "blob", d, "error", err)
		}
	}
	return nil
}

func (x *BlobPeer) readDocument(ctx context.Context, host string, d digest.Digest, most int64) ([]byte, error) {
	first, size, err := x.readPeer(ctx, host, d.String(), 0, 1)
	if err != nil {
		return nil, err
	}
	first.Close()
	if size > most {
		return nil, fmt.Errorf("it has %d bytes, more than the %d of a document", size, most)
	}
	body, _, err := x.readPeer(ctx, host, d.String(), 0, size)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, size))
	if err == nil && d.Algorithm().FromBytes(text) != d {
		x.blame(host, d)
		err = ErrDigest
	}
	return text, err
}

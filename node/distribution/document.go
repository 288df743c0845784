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
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	for {
		answer, err := x.askTracker(ctx, blob.Request{Wants: []blob.Want{{Digest: d.String(), Avoid: x.avoid.list()}}})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", blob.ErrNotHere, err)
		}
		if text := x.documentFrom(ctx, answer, d, most); text != nil {
			return text, nil
		}
		if !answer.Settling {
			return nil, fmt.Errorf("blob %s: %w", d, blob.ErrNotHere)
		}
		x.wakeUp() // this host may be one that has told nothing
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("blob %s: %w", d, blob.ErrNotHere)
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

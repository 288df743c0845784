package distribution

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

// documentTimeout bounds how long hosts are asked for a document, until it comes from the registry.
const documentTimeout = 5 * time.Second

// Document reads a small blob, such as a manifest, of which nothing but its digest is known, from a host that has it: at most so many
// bytes, which were checked. The error wraps blob.ErrNotHere if no host gives it.
func (x *Exchange) Document(ctx context.Context, d digest.Digest, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	answer, err := x.askTracker(ctx, blob.Request{Wants: []blob.Want{{Digest: d.String(), Avoid: x.avoid.list()}}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", blob.ErrNotHere, err)
	}
	for _, g := range answer.Grants {
		for _, p := range g.Peers {
			text, err := x.readDocument(ctx, p.Host, d, most)
			if err == nil {
				return text, nil
			}
			x.config.Log.Debug("a host does not give a document", "host", p.Host, "blob", d, "error", err)
		}
	}
	return nil, fmt.Errorf("blob %s: %w", d, blob.ErrNotHere)
}

func (x *Exchange) readDocument(ctx context.Context, host string, d digest.Digest, most int64) ([]byte, error) {
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

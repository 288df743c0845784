package distribution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

// compareBuffer is the number of bytes that are compared at a time.
const compareBuffer = 256 << 10

// corruptBlob repairs a blob that does not match its digest. All of its pieces are here.
type corruptBlob struct {
	pieceFile
	digest  digest.Digest
	x       *BlobPeer
	from    Registry
	ranges  bool                   // the registry gives parts of it
	sources map[int]string         // of the pieces: a host or the registry
	named   map[string]blob.Pieces // what hosts have of it
}

func newCorruptBlob(d *Download) *corruptBlob {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &corruptBlob{
		pieceFile: d.pieceFile, digest: d.digest, x: d.x, from: d.from, ranges: !d.state.noRanges && d.count > 1,
		sources: maps.Clone(d.pieces.sources), named: maps.Clone(d.peers.named),
	}
}

// run replaces the pieces of other hosts in a blob that does not match its digest, and names the host that gave wrong bytes. The
// registry has the last word; if it cannot be reached, the pieces of one host after another are fetched from the others.
func (r *corruptBlob) run(ctx context.Context) error {
	suspects := r.suspects()
	if len(suspects) == 0 {
		return fmt.Errorf("blob %s from the registry: %w", r.digest, ErrDigest)
	}
	r.x.config.Log.Warn("a blob is not what its digest says: what other hosts gave of it is fetched again", "blob", r.digest, "hosts", suspects)
	if wrong, err := r.replaceFromRegistry(ctx); err == nil && r.isRight() {
		for _, host := range wrong {
			r.x.blame(host, r.digest)
		}
		return nil
	}
	for _, host := range suspects {
		if r.replaceFromPeers(ctx, host) == nil && r.isRight() {
			r.x.blame(host, r.digest)
			return nil
		}
	}
	return fmt.Errorf("blob %s from the hosts %v: %w", r.digest, suspects, ErrDigest)
}

// dropLargestSource forgets what the host gave that gave most of a blob which does not match its digest. It comes as at first, from the registry or from other hosts, so that
// the registry gives it once more however many hosts were lied to. False: no host gave any, or that was tried already and was not enough.
func (r *corruptBlob) dropLargestSource(d *Download) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	suspects := r.suspects()
	if len(suspects) == 0 || d.state.retried {
		d.state.dropped = ""
		return false
	}
	source := slices.MaxFunc(suspects, func(a, b string) int { return len(r.piecesOf(a)) - len(r.piecesOf(b)) })
	d.state.retried, d.state.dropped, d.state.started = true, source, false // what this reader asked for would end with it
	d.peers.lacking[source] = time.Now().Add(liedFor)
	for _, piece := range r.piecesOf(source) {
		d.pieces.have.Remove(piece)
		delete(d.pieces.sources, piece)
	}
	d.x.config.Log.Warn("a blob is not what its digest says: what another host gave of it is fetched again", "blob", d.digest, "hostId", source)
	return true
}

// blame keeps this host from asking another one that gave wrong bytes.
func (x *BlobPeer) blame(host string, d digest.Digest) {
	x.avoid.add(host, liedFor)
	x.config.Log.Warn("a host gave wrong bytes of a blob: check its disk and its memory, or whether somebody else is on it", "hostId", host, "blob", d)
}

// suspects are the hosts that gave pieces.
func (r *corruptBlob) suspects() (hosts []string) {
	for _, source := range r.sources {
		if source != fromRegistry && !slices.Contains(hosts, source) {
			hosts = append(hosts, source)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (r *corruptBlob) piecesOf(host string) (pieces []int) {
	for piece, source := range r.sources {
		if source == host {
			pieces = append(pieces, piece)
		}
	}
	slices.Sort(pieces)
	return pieces
}

// replaceFromRegistry fetches all that hosts gave, and returns the hosts whose bytes were others.
func (r *corruptBlob) replaceFromRegistry(ctx context.Context) (wrong []string, err error) {
	for _, host := range r.suspects() {
		for _, piece := range r.piecesOf(host) {
			differs, err := r.replacePiece(ctx, piece, r.openRegistry)
			if err != nil {
				return nil, err
			}
			if differs && !slices.Contains(wrong, host) {
				wrong = append(wrong, host)
			}
		}
	}
	return wrong, nil
}

// openRegistry opens a piece, with or without ranges.
func (r *corruptBlob) openRegistry(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if r.ranges {
		body, err := r.from.Range(ctx, offset, length)
		if !errors.Is(err, ErrNoRanges) {
			return body, err
		}
		r.ranges = false
	}
	return r.from.OpenFrom(ctx, offset)
}

// replaceFromPeers fetches the pieces of a host from the others that have them.
func (r *corruptBlob) replaceFromPeers(ctx context.Context, suspect string) error {
	for _, piece := range r.piecesOf(suspect) {
		err := fmt.Errorf("no other host has piece %d of blob %s", piece, r.digest)
		for host, has := range r.named {
			if host == suspect || !has.Has(piece) {
				continue
			}
			if _, err = r.replacePiece(ctx, piece, func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
				body, _, err := r.x.readPeer(ctx, host, r.digest.String(), offset, length)
				return body, err
			}); err == nil {
				r.sources[piece] = host
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replacePiece writes a piece anew, and reports whether it was another one before.
func (r *corruptBlob) replacePiece(ctx context.Context, piece int, open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)) (differs bool, err error) {
	offset, length := r.bounds(piece)
	body, err := open(ctx, offset, length)
	if err != nil {
		return false, err
	}
	defer body.Close()
	before, now := make([]byte, compareBuffer), make([]byte, compareBuffer)
	for end := offset + length; offset < end; {
		n := min(compareBuffer, end-offset)
		if _, err := io.ReadFull(body, now[:n]); err != nil {
			return false, err
		}
		if _, err := r.file.ReadAt(before[:n], offset); err != nil {
			return false, err
		}
		if !bytes.Equal(before[:n], now[:n]) {
			differs = true
			if _, err := r.file.WriteAt(now[:n], offset); err != nil {
				return false, err
			}
		}
		offset += n
	}
	return differs, nil
}

// isRight reports whether the blob matches its digest.
func (r *corruptBlob) isRight() bool { return r.matches(r.digest) }

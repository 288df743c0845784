package distribution

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
)

// compareBuffer is how many bytes are compared at a time.
const compareBuffer = 256 << 10

// repair replaces what hosts gave of a blob that is not what its digest says, and names the one that gave wrong bytes. The registry has
// the last word; if it cannot be reached, the pieces of one host after another are fetched from the others.
func (d *Download) repair(ctx context.Context) error {
	suspects := d.suspects()
	if len(suspects) == 0 {
		return fmt.Errorf("blob %s from the registry: %w", d.digest, ErrDigest)
	}
	d.x.config.Log.Warn("a blob is not what its digest says: what other hosts gave of it is fetched again", "blob", d.digest, "hosts", suspects)
	if wrong, err := d.replaceFromRegistry(ctx); err == nil && d.check() {
		for _, host := range wrong {
			d.x.blame(host, d.digest)
		}
		return nil
	}
	for _, host := range suspects {
		if d.replaceFromPeers(ctx, host) == nil && d.check() {
			d.x.blame(host, d.digest)
			return nil
		}
	}
	return fmt.Errorf("blob %s from the hosts %v: %w", d.digest, suspects, ErrDigest)
}

// blame keeps this host from asking another one that gave wrong bytes.
func (x *Exchange) blame(host string, d digest.Digest) {
	x.avoid.add(host, liedFor)
	x.config.Log.Warn("a host gave wrong bytes of a blob: check its disk and its memory, or whether somebody else is on it", "host", host, "blob", d)
}

// suspects are the hosts that gave pieces.
func (d *Download) suspects() (hosts []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, source := range d.sources {
		if source != fromRegistry && !slices.Contains(hosts, source) {
			hosts = append(hosts, source)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (d *Download) piecesOf(host string) (pieces []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for piece, source := range d.sources {
		if source == host {
			pieces = append(pieces, piece)
		}
	}
	slices.Sort(pieces)
	return pieces
}

// replaceFromRegistry fetches all that hosts gave, and returns the hosts whose bytes were others.
func (d *Download) replaceFromRegistry(ctx context.Context) (wrong []string, err error) {
	for _, host := range d.suspects() {
		for _, piece := range d.piecesOf(host) {
			differs, err := d.replacePiece(ctx, piece, d.openRegistry)
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
func (d *Download) openRegistry(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	d.mu.Lock()
	ranges := !d.state.noRanges && d.count > 1
	d.mu.Unlock()
	if ranges {
		return d.from.Range(ctx, offset, length)
	}
	return d.from.Whole(ctx, offset)
}

// replaceFromPeers fetches the pieces of a host from the others that have them.
func (d *Download) replaceFromPeers(ctx context.Context, suspect string) error {
	d.mu.Lock()
	named := maps.Clone(d.named)
	d.mu.Unlock()
	for _, piece := range d.piecesOf(suspect) {
		err := fmt.Errorf("no other host has piece %d of blob %s", piece, d.digest)
		for host, has := range named {
			if host == suspect || !has.Has(piece) {
				continue
			}
			if _, err = d.replacePiece(ctx, piece, func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
				body, _, err := d.x.readPeer(ctx, host, d.digest.String(), offset, length)
				return body, err
			}); err == nil {
				d.mu.Lock()
				d.sources[piece] = host
				d.mu.Unlock()
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
func (d *Download) replacePiece(ctx context.Context, piece int, open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)) (differs bool, err error) {
	offset, length := d.bounds(piece)
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
		if _, err := d.file.ReadAt(before[:n], offset); err != nil {
			return false, err
		}
		if !bytes.Equal(before[:n], now[:n]) {
			differs = true
			if _, err := d.file.WriteAt(now[:n], offset); err != nil {
				return false, err
			}
		}
		offset += n
	}
	return differs, nil
}

// check reads all of the blob, and reports whether it is what its digest says.
func (d *Download) check() bool {
	verifier := d.digest.Verifier()
	if _, err := io.Copy(verifier, io.NewSectionReader(d.file, 0, d.size)); err != nil || !verifier.Verified() {
		return false
	}
	d.setVerified()
	return true
}

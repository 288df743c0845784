package distribution

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

var (
	// ErrRestart is the error of a blob of which wrong bytes were read: they are replaced, and it is to be fetched again from its beginning.
	ErrRestart = errors.New("some of the blob was wrong and is replaced")
	// ErrDigest is the error of a blob that nobody has as its digest says.
	ErrDigest = errors.New("what comes is not what the digest says")
)

// Reader reads a blob in the order of its bytes, as its pieces come. It is not safe for concurrent use.
type Reader struct {
	ctx    context.Context
	d      *Download
	offset int64
	hash   hash.Hash // of all before offset; nil: not all of it was read
}

// Read reads on. See Fetch for what is known of the bytes.
func (r *Reader) Read(p []byte) (int, error) {
	if r.offset >= r.d.size {
		return 0, io.EOF
	}
	r.d.start(r.offset)
	piece := int(r.offset / blob.PieceSize(r.d.size))
	if err := r.d.await(r.ctx, piece); err != nil {
		return 0, err
	}
	begin, length := r.d.bounds(piece)
	n, err := r.d.file.ReadAt(p[:min(int64(len(p)), begin+length-r.offset)], r.offset)
	if err != nil && (err != io.EOF || n == 0) {
		return 0, err
	}
	if r.hash != nil {
		r.hash.Write(p[:n])
		if r.offset+int64(n) == r.d.size {
			if err := r.verify(); err != nil {
				return 0, err
			}
		}
	}
	r.offset += int64(n)
	return n, nil
}

// verify checks all that was read against the digest, and replaces what is wrong.
func (r *Reader) verify() error {
	if digest.NewDigest(r.d.digest.Algorithm(), r.hash) == r.d.digest {
		r.d.setVerified()
		return nil
	}
	corrupt := newCorruptBlob(r.d)
	if corrupt.dropLargestSource(r.d) {
		return fmt.Errorf("blob %s: %w", r.d.digest, ErrRestart)
	}
	if err := corrupt.run(r.ctx); err != nil {
		return err
	}
	r.d.setVerified() // other hosts get what is right now
	return fmt.Errorf("blob %s: %w", r.d.digest, ErrRestart)
}

// Seek moves to a byte. What is skipped is neither fetched nor checked, so whoever has it has to check the whole.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.d.size
	}
	if offset < 0 || offset > r.d.size {
		return 0, fmt.Errorf("byte %d of a blob of %d", offset, r.d.size)
	}
	if offset != r.offset {
		r.hash = nil
	}
	if offset == 0 {
		r.hash = r.d.digest.Algorithm().Hash()
	}
	r.offset = offset
	return offset, nil
}

// Close ends the fetches that are still under way.
func (r *Reader) Close() error {
	r.d.release()
	return nil
}

// setVerified has other hosts get all of the blob.
func (d *Download) setVerified() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.dropped != "" {
		d.x.blame(d.state.dropped, d.digest)
		d.state.dropped = ""
	}
	d.state.verified = true
	d.pieces.share = blob.AllPieces(d.count)
	d.x.wakeUp()
}

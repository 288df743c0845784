package distribution

import (
	"io"
	"os"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

// pieceFile is the bytes of a blob of which some pieces are here. The file has no name any more, so nothing is left of it when the process
// ends.
type pieceFile struct {
	file  *os.File
	size  int64
	count int // pieces
}

func newPieceFile(dir string, size int64) (pieceFile, error) {
	file, err := os.CreateTemp(dir, "blob-")
	if err != nil {
		return pieceFile{}, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return pieceFile{}, err
	}
	return pieceFile{file, size, blob.Count(size)}, nil
}

// bounds is the offset of a piece and its length.
func (f pieceFile) bounds(piece int) (offset, length int64) {
	size := blob.PieceSize(f.size)
	offset = int64(piece) * size
	return offset, min(size, f.size-offset)
}

// write copies a piece to its place.
func (f pieceFile) write(piece int, from io.Reader) error {
	offset, length := f.bounds(piece)
	n, err := io.Copy(io.NewOffsetWriter(f.file, offset), io.LimitReader(from, length))
	if err == nil && n < length {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// matches reads all of it, and reports whether it is what a digest says.
func (f pieceFile) matches(d digest.Digest) bool {
	verifier := d.Verifier()
	_, err := io.Copy(verifier, io.NewSectionReader(f.file, 0, f.size))
	return err == nil && verifier.Verified()
}

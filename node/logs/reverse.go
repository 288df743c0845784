package logs

import (
	"bytes"
	"io"
)

// reverseBlock is the number of bytes that are read at once from the end of a file towards its beginning.
const reverseBlock = 64 << 10

// reverse reads the lines of a file from the last to the first. It holds one block, or the longest line.
type reverse struct {
	file  io.ReaderAt
	begin int64  // offset of rest in the file
	rest  []byte // what was read and not returned yet
}

func newReverse(file io.ReaderAt, size int64) *reverse { return &reverse{file: file, begin: size} }

// line returns the line before the last one that was returned, its line end included, and its offset. The error is io.EOF at the
// beginning of the file. The line is valid until the next call.
func (b *reverse) line() (offset int64, line []byte, err error) {
	for {
		if n := len(b.rest); n > 0 {
			if before := bytes.LastIndexByte(b.rest[:n-1], '\n'); before >= 0 {
				line, b.rest = b.rest[before+1:], b.rest[:before+1]
				return b.begin + int64(before) + 1, line, nil
			}
		}
		if b.begin == 0 {
			if line, b.rest = b.rest, nil; len(line) == 0 {
				return 0, nil, io.EOF
			}
			return 0, line, nil
		}
		size := min(b.begin, reverseBlock)
		grown := make([]byte, int(size)+len(b.rest))
		if _, err := b.file.ReadAt(grown[:size], b.begin-size); err != nil {
			return 0, nil, err
		}
		copy(grown[size:], b.rest)
		b.begin, b.rest = b.begin-size, grown
	}
}

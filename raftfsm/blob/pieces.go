package blob

import (
	"math/bits"
	"slices"
)

const (
	minPieceSize = 4 << 20 // bytes
	maxPieces    = 2048
	pieceUnit    = 1 << 20
	// MaxSize is the size of the largest blob that hosts exchange in bytes, 1 TiB.
	MaxSize = 1 << 40
)

// PieceSize is the size in bytes of the pieces of a blob of so many bytes, but for the last one: 4 MiB, and more where a blob would have
// over 2,048.
func PieceSize(size int64) int64 {
	least := (size + maxPieces - 1) / maxPieces
	return max(minPieceSize, (least+pieceUnit-1)/pieceUnit*pieceUnit)
}

// Count returns the number of pieces of a blob of so many bytes, 1 at least.
func Count(size int64) int {
	piece := PieceSize(size)
	return int(max(1, (size+piece-1)/piece))
}

// Pieces is a set of pieces of one blob, by their numbers from 0: bit 0 of the first byte is the first one. Its methods take any
// number and sets of any lengths.
type Pieces []byte

// NewPieces is an empty set for a blob of so many pieces.
func NewPieces(count int) Pieces { return make(Pieces, (count+7)/8) }

// AllPieces is the set of all pieces of a blob of so many.
func AllPieces(count int) Pieces {
	all := NewPieces(count)
	for i := range count {
		all.Add(i)
	}
	return all
}

// Has reports whether a piece is in the set.
func (p Pieces) Has(i int) bool { return i >= 0 && i/8 < len(p) && p[i/8]&(1<<(i%8)) != 0 }

// Add puts a piece into the set, which must have been made for that many.
func (p Pieces) Add(i int) { p[i/8] |= 1 << (i % 8) }

// Remove takes a piece out of the set.
func (p Pieces) Remove(i int) {
	if p.Has(i) {
		p[i/8] &^= 1 << (i % 8)
	}
}

// Merge adds the pieces of another set; those past the end of this one are left out.
func (p Pieces) Merge(other Pieces) {
	for i := range min(len(p), len(other)) {
		p[i] |= other[i]
	}
}

// Truncate is a copy for a blob of so many pieces, without those past its end: a set that comes from elsewhere may have some.
func (p Pieces) Truncate(count int) Pieces {
	of := slices.Clone(p[:min(len(p), (count+7)/8)])
	for i := count; i < 8*len(of); i++ {
		of.Remove(i)
	}
	return of
}

// Len returns the number of pieces in the set.
func (p Pieces) Len() (n int) {
	for _, b := range p {
		n += bits.OnesCount8(b)
	}
	return n
}

// HasOther reports whether the set has a piece that another one lacks.
func (p Pieces) HasOther(than Pieces) bool {
	for i, b := range p {
		if i >= len(than) && b != 0 || i < len(than) && b&^than[i] != 0 {
			return true
		}
	}
	return false
}

package blob

import (
	"math/rand/v2"
	"testing"
)

func TestPiecesCoverABlobExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []int64{0, 1, minPieceSize - 1, minPieceSize, minPieceSize + 1, maxPieces * minPieceSize, maxPieces*minPieceSize + 1, MaxSize}
	for range 1000 {
		sizes = append(sizes, r.Int64N(MaxSize>>r.IntN(40)))
	}
	for _, size := range sizes {
		piece, count := PieceSize(size), int64(Count(size))
		if count < 1 || count > maxPieces || piece*count < size || size > 0 && piece*(count-1) >= size {
			t.Errorf("%d bytes: %d pieces of %d bytes", size, count, piece)
		}
	}
}

func TestPiecesAreASet(t *testing.T) {
	const count = 75
	p, model := NewPieces(count), map[int]bool{}
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		i := r.IntN(count)
		if r.IntN(2) == 0 {
			p.Add(i)
			model[i] = true
		} else {
			p.Remove(i)
			delete(model, i)
		}
		if p.Len() != len(model) || p.Has(i) != model[i] {
			t.Fatalf("%v is not %v", p, model)
		}
		if AllPieces(count).HasOther(p) != (len(model) < count) || p.HasOther(AllPieces(count)) || p.HasOther(nil) != (len(model) > 0) {
			t.Fatalf("%v and all of %d are compared wrongly", p, count)
		}
	}
	for _, i := range []int{-1, count + 100} {
		if p.Has(i) {
			t.Errorf("it has piece %d", i)
		}
		p.Remove(i)
	}
	merged := NewPieces(8)
	merged.Merge(AllPieces(count))
	if merged.Len() != 8 {
		t.Errorf("%d pieces", merged.Len())
	}
}

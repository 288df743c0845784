package distribution

import "pinion/raftfsm/blob"

// pieces are the pieces of a blob: those that are here, and those on their way.
type pieces struct {
	count   int
	have    blob.Pieces
	share   blob.Pieces    // of these, those that other hosts get
	sources map[int]string // of those that are here: a host or the registry
	fetches map[int]string // those on their way, from a host or from the registry
}

func newPieces(count int) pieces {
	return pieces{count: count, have: blob.NewPieces(count), share: blob.NewPieces(count), sources: map[int]string{}, fetches: map[int]string{}}
}

func (p *pieces) complete() bool { return p.have.Len() >= p.count }

// missing reports whether nobody is fetching a piece that is not here.
func (p *pieces) missing(piece int) bool {
	_, underWay := p.fetches[piece]
	return !underWay && !p.have.Has(piece)
}

// fetchesFrom counts the pieces on their way from a host or the registry.
func (p *pieces) fetchesFrom(source string) (n int) {
	for _, from := range p.fetches {
		if from == source {
			n++
		}
	}
	return n
}

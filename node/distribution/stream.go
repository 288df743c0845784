package distribution

import (
	"context"
	"io"
)

// stream fetches the missing part of a download from a registry that gives the blob as a whole alone.
type stream struct{ d *Download }

// run takes the pieces as they come.
func (s stream) run(ctx context.Context) {
	d := s.d
	err := s.pieces(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.streaming = false
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		d.noRegistry(err)
	}
	d.dispatch()
	d.x.wakeUp()
}

func (s stream) pieces(ctx context.Context) error {
	d := s.d
	d.mu.Lock()
	first := 0
	for first < d.count && d.pieces.have.Has(first) {
		first++
	}
	d.mu.Unlock()
	if first == d.count {
		return nil
	}
	offset, _ := d.bounds(first)
	body, err := d.from.OpenFrom(ctx, offset)
	if err != nil {
		return err
	}
	defer body.Close()
	for piece := first; piece < d.count; piece++ {
		if err := s.piece(piece, body); err != nil {
			return err
		}
	}
	return nil
}

// piece takes the next piece of a stream, unless it has come from elsewhere.
func (s stream) piece(piece int, body io.Reader) error {
	d := s.d
	d.mu.Lock()
	missing := d.pieces.missing(piece)
	if missing {
		d.pieces.fetches[piece] = fromRegistry
	}
	d.mu.Unlock()
	if !missing {
		_, length := d.bounds(piece)
		_, err := io.CopyN(io.Discard, body, length)
		return err
	}
	err := d.write(piece, body)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pieces.fetches, piece)
	if err == nil {
		d.arrived(piece, fromRegistry)
	}
	return err
}

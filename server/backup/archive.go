package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"pinion/raftfsm"
)

// A snapshot with the history of ended tasks is a line of JSON and then frames: a kind, a length of four bytes, and as many bytes. First the
// state as raftfsm writes it, in chunks, then what the history says of itself, its blocks, and the SHA-256 of all before.
const (
	archiveLine  = `{"pinionBackup":1}` + "\n"
	frameState   = 's'
	frameHistory = 'h'
	frameBlock   = 'b'
	frameEnd     = 'e'

	maxFrame   = 64 << 20
	stateChunk = 1 << 20
)

// History is the history of ended tasks in a snapshot: what the history says of itself, in its own words, and its blocks. Package history
// writes and reads both.
type History struct {
	About  []byte
	Blocks iter.Seq2[[]byte, error]
}

// Write writes a snapshot of the state with the history, a block at a time.
func Write(w io.Writer, view *raftfsm.View, past History) error {
	buffered := bufio.NewWriterSize(w, stateChunk)
	out := &frameWriter{out: buffered, sum: sha256.New()}
	if err := out.write([]byte(archiveLine)); err != nil {
		return err
	}
	if err := view.WriteSnapshot(out); err != nil {
		return err
	}
	if err := out.frame(frameHistory, past.About); err != nil {
		return err
	}
	for block, err := range past.Blocks {
		if err == nil {
			err = out.frame(frameBlock, block)
		}
		if err != nil {
			return fmt.Errorf("write the history to the snapshot: %w", err)
		}
	}
	if err := out.frame(frameEnd, out.sum.Sum(nil)); err != nil {
		return err
	}
	return buffered.Flush()
}

// frameWriter writes frames; as a Writer it writes chunks of the state.
type frameWriter struct {
	out io.Writer
	sum hash.Hash
}

func (w *frameWriter) write(text []byte) error {
	w.sum.Write(text)
	_, err := w.out.Write(text)
	return err
}

func (w *frameWriter) frame(kind byte, text []byte) error {
	return errors.Join(w.write(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(text)))), w.write(text))
}

func (w *frameWriter) Write(text []byte) (int, error) { return len(text), w.frame(frameState, text) }

// Read reads a snapshot, with or without a history: the state, then what stands behind it. The past is nil when the snapshot has none; its
// blocks can be read once, and only they tell whether the snapshot is whole. raftfsm.ErrDamaged, raftfsm.ErrNewer.
func Read(r io.Reader) (*raftfsm.State, *History, error) {
	in := &frameReader{in: bufio.NewReaderSize(r, stateChunk), sum: sha256.New()}
	state := raftfsm.NewState()
	if begin, err := in.in.Peek(len(archiveLine)); err != nil || !bytes.HasPrefix(begin, []byte(`{"pinionBackup":`)) {
		return state, nil, state.Restore(in.in)
	} else if string(begin) != archiveLine {
		return nil, nil, fmt.Errorf("a snapshot of the form %s: %w", bytes.TrimSpace(begin), raftfsm.ErrNewer)
	}
	if _, err := in.read(len(archiveLine)); err != nil {
		return nil, nil, err
	}
	if err := in.next(); err != nil {
		return nil, nil, err
	}
	if err := state.Restore(in); err != nil {
		return nil, nil, err
	}
	if in.kind != frameHistory {
		return nil, nil, fmt.Errorf("the history does not follow the state: %w", raftfsm.ErrDamaged)
	}
	about, err := in.read(in.size)
	return state, &History{About: about, Blocks: in.blocks}, err
}

// frameReader reads frames; as a Reader it reads the chunks of the state, up to another kind of frame.
type frameReader struct {
	in   *bufio.Reader
	sum  hash.Hash
	kind byte
	size int // bytes of the frame that are not read yet
}

// read reads so many bytes.
func (r *frameReader) read(n int) ([]byte, error) {
	text := make([]byte, n)
	if _, err := io.ReadFull(r.in, text); err != nil {
		return nil, fmt.Errorf("the snapshot breaks off (%w): %w", err, raftfsm.ErrDamaged)
	}
	r.sum.Write(text)
	return text, nil
}

// next reads the beginning of the next frame.
func (r *frameReader) next() error {
	text, err := r.read(5)
	if err != nil {
		return err
	}
	if r.kind, r.size = text[0], int(binary.BigEndian.Uint32(text[1:])); r.size > maxFrame {
		return fmt.Errorf("a part of %d bytes: %w", r.size, raftfsm.ErrDamaged)
	}
	return nil
}

func (r *frameReader) Read(into []byte) (int, error) {
	for r.size == 0 && r.kind == frameState {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if r.kind != frameState {
		return 0, io.EOF
	}
	text, err := r.read(min(len(into), r.size))
	r.size -= len(text)
	return copy(into, text), err
}

// blocks reads the blocks, and verifies the sum of all.
func (r *frameReader) blocks(yield func([]byte, error) bool) {
	for {
		sum := r.sum.Sum(nil)
		err := r.next()
		if err != nil {
			yield(nil, err)
			return
		}
		text, err := r.read(r.size)
		switch {
		case err == nil && r.kind == frameBlock:
			if !yield(text, nil) {
				return
			}
			continue
		case err == nil && (r.kind != frameEnd || !bytes.Equal(text, sum)):
			err = fmt.Errorf("its checksum is wrong: %w", raftfsm.ErrDamaged)
		case err == nil:
			if _, more := r.in.ReadByte(); !errors.Is(more, io.EOF) {
				err = fmt.Errorf("more data follows the end: %w", raftfsm.ErrDamaged)
			}
		}
		if err != nil {
			yield(nil, err)
		}
		return
	}
}

// missing is what a snapshot says of the history when there was none to read.
type missing struct {
	Why string `json:"missing"`
}

// Without is the past in a snapshot of a server whose history could not be read.
func Without(why error) History {
	about, _ := json.Marshal(missing{why.Error()})
	return History{About: about, Blocks: func(func([]byte, error) bool) {}}
}

// Missing is why the history could not be read; empty when it could.
func (p *History) Missing() string {
	var m missing
	_ = json.Unmarshal(p.About, &m)
	return m.Why
}

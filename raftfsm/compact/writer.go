package compact

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxDictionary bounds the texts of a stream that are interned; later ones are written in full.
const maxDictionary = 1 << 21

// Writer writes the values of one stream. Texts are interned: a text that was written once is a number from then on, so a Reader has
// to read the values in the same order. The zero value begins a stream.
type Writer struct {
	out         []byte
	dictionary  map[string]uint64
	lastSeconds int64   // seconds of the time that was written last
	scratch     *Writer // for aside
}

// Append appends the value that value points to. It panics for types without an encoding.
func (w *Writer) Append(out []byte, value any) []byte {
	v := reflect.ValueOf(value).Elem()
	w.out = out
	codecOf(v.Type()).write(w, v)
	return w.out
}

func writeBool(w *Writer, v reflect.Value) {
	if v.Bool() {
		w.out = append(w.out, 1)
	} else {
		w.out = append(w.out, 0)
	}
}

func writeInt(w *Writer, v reflect.Value)  { w.out = binary.AppendVarint(w.out, v.Int()) }
func writeUint(w *Writer, v reflect.Value) { w.out = binary.AppendUvarint(w.out, v.Uint()) }

func writeString(w *Writer, v reflect.Value) { w.internedText(v.String()) }
func writeText(w *Writer, v reflect.Value)   { w.out = appendText(w.out, v.String()) }

func (w *Writer) internedText(s string) {
	if number, known := w.dictionary[s]; known {
		w.out = binary.AppendUvarint(w.out, number)
		return
	}
	w.out = appendText(append(w.out, 0), s)
	if w.dictionary == nil {
		w.dictionary = map[string]uint64{}
	}
	if len(w.dictionary) < maxDictionary {
		w.dictionary[s] = uint64(len(w.dictionary)) + 1
	}
}

// internedValue writes a value as an interned text: its bytes as the first value of a stream of its own.
func (w *Writer) internedValue(p *codec, v reflect.Value) {
	if w.scratch == nil {
		w.scratch = new(Writer)
	}
	clear(w.scratch.dictionary)
	w.scratch.out, w.scratch.lastSeconds = w.scratch.out[:0], 0
	p.write(w.scratch, v)
	if number, known := w.dictionary[string(w.scratch.out)]; known { // asked so, nothing is copied
		w.out = binary.AppendUvarint(w.out, number)
		return
	}
	w.internedText(string(w.scratch.out))
}

func writeTime(w *Writer, v reflect.Value) {
	t := v.Addr().Interface().(*time.Time)
	w.out = binary.AppendVarint(w.out, t.Unix()-w.lastSeconds)
	w.out = binary.AppendUvarint(w.out, uint64(t.Nanosecond()))
	w.lastSeconds = t.Unix()
}

// length is 0 for nil.
func (w *Writer) length(v reflect.Value) (n int) {
	if v.IsNil() {
		w.out = append(w.out, 0)
		return 0
	}
	n = v.Len()
	w.out = binary.AppendUvarint(w.out, uint64(n)+1)
	return n
}

func writeBytes(w *Writer, v reflect.Value) {
	if w.length(v) > 0 {
		w.out = append(w.out, v.Bytes()...)
	}
}

func writeSlice(w *Writer, v reflect.Value, element *codec) {
	for i := range w.length(v) {
		element.write(w, v.Index(i))
	}
}

func writeMap(w *Writer, v reflect.Value, key, element *codec) {
	w.length(v)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		key.write(w, k)
		value := reflect.New(element.goType).Elem() // times are written where they can be pointed to
		value.Set(v.MapIndex(k))
		element.write(w, value)
	}
}

func writeStruct(w *Writer, v reflect.Value, p *codec) {
	bits := len(w.out) + 1
	w.out = append(w.out, byte(len(p.bitmap)))
	w.out = append(w.out, p.bitmap...)
	for i := range p.fields {
		f := &p.fields[i]
		value := v.Field(f.index)
		if f.isZero(value) {
			continue
		}
		w.out[bits+i/8] |= 1 << (i % 8)
		f.codec.writeField(w, value)
	}
}

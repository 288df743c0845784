package compact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

var (
	// ErrUnknown is the error of Read for a field that the type does not have.
	ErrUnknown = errors.New("a field is not known")
	// ErrDamaged is the error of Read for bytes that no Writer has written.
	ErrDamaged = errors.New("the bytes are damaged or cut short")
)

// Reader reads the values of one stream in the order in which they were written. The zero value begins a stream. It must not be used
// after an error.
type Reader struct {
	in          []byte
	dictionary  []string
	texts       strings.Builder // has room for more of them; see shared
	lastSeconds int64
	interned    map[internedKey]reflect.Value
	err         error
}

// internedKey is the encoded value of a field that is interned.
type internedKey struct {
	codec *codec
	text  string
}

// Read reads one value into the zero value that into points to. Errors wrap ErrUnknown or ErrDamaged.
func (r *Reader) Read(value []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	r.in = value
	return r.readAll(codecOf(v.Type()), v)
}

// readAll reads a value and expects nothing behind it.
func (r *Reader) readAll(p *codec, v reflect.Value) error {
	p.read(r, v)
	if r.err == nil && len(r.in) > 0 {
		r.fail(fmt.Errorf("%d bytes follow the value: %w", len(r.in), ErrDamaged))
	}
	return r.err
}

// fail keeps the first error; everything read after it is zero.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.in = nil
}

func (r *Reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.in)
	r.advance(size)
	return n
}

func (r *Reader) varint() int64 {
	n, size := binary.Varint(r.in)
	r.advance(size)
	return n
}

// advance skips a number of that size; 0 or less is an error.
func (r *Reader) advance(size int) {
	if size <= 0 {
		r.fail(ErrDamaged)
		return
	}
	r.in = r.in[size:]
}

// bytes are the next n, shared with the stream.
func (r *Reader) bytes(n uint64) []byte {
	if n > uint64(len(r.in)) {
		r.fail(ErrDamaged)
		return nil
	}
	taken := r.in[:n]
	r.in = r.in[n:]
	return taken
}

func (r *Reader) bit() bool {
	b := r.bytes(1)
	if len(b) == 1 && b[0] > 1 {
		r.fail(ErrDamaged)
	}
	return len(b) == 1 && b[0] == 1
}

func readBool(r *Reader, v reflect.Value) { v.SetBool(r.bit()) }

func readInt(r *Reader, v reflect.Value) {
	n := r.varint()
	if v.OverflowInt(n) {
		r.fail(ErrDamaged)
		return
	}
	v.SetInt(n)
}

func readUint(r *Reader, v reflect.Value) {
	n := r.uvarint()
	if v.OverflowUint(n) {
		r.fail(ErrDamaged)
		return
	}
	v.SetUint(n)
}

func readString(r *Reader, v reflect.Value) { v.SetString(r.internedText()) }
func readText(r *Reader, v reflect.Value)   { v.SetString(r.text()) }

func (r *Reader) internedText() string {
	number := r.uvarint()
	if number > uint64(len(r.dictionary)) {
		r.fail(ErrDamaged)
	}
	if r.err != nil {
		return ""
	}
	if number > 0 {
		return r.dictionary[number-1]
	}
	s := r.text()
	if r.err == nil && len(r.dictionary) < maxDictionary {
		r.dictionary = append(r.dictionary, s)
	}
	return s
}

func (r *Reader) text() string {
	header := r.uvarint()
	packed := r.bytes(header / formCount)
	if r.err != nil {
		return ""
	}
	var short [shortText]byte
	text, ok := unpack(short[:0], header%formCount, packed)
	if !ok {
		r.fail(ErrDamaged)
		return ""
	}
	return r.shared(text)
}

// Short texts that are read one after the other, mostly those of one object, share an allocation: the state of a pool has millions. It is no larger
// than a text may keep in memory for others that are gone.
const (
	shortText  = 64
	sharedText = 256
)

// shared is the text as a string.
func (r *Reader) shared(text []byte) string {
	if len(text) > shortText {
		return string(text)
	}
	if r.texts.Cap()-r.texts.Len() < len(text) {
		r.texts = strings.Builder{}
		r.texts.Grow(min(sharedText, len(text)+5*len(r.in)/2)) // 16 bytes are a text of 40 at most
	}
	from := r.texts.Len()
	r.texts.Write(text)
	return r.texts.String()[from:]
}

// internedValue reads a value by its text, or shares it when the text was read before.
func (r *Reader) internedValue(p *codec, v reflect.Value) {
	s := r.internedText()
	if r.err != nil {
		return
	}
	key := internedKey{p, s}
	value, known := r.interned[key]
	if !known {
		alone := Reader{in: []byte(s)}
		value = reflect.New(p.goType).Elem()
		if err := alone.readAll(p, value); err != nil {
			r.fail(err)
			return
		}
		if r.interned == nil {
			r.interned = map[internedKey]reflect.Value{}
		}
		if len(r.interned) < maxDictionary {
			r.interned[key] = value
		}
	}
	v.Set(value)
}

func readTime(r *Reader, v reflect.Value) {
	seconds, nanoseconds := r.lastSeconds+r.varint(), r.uvarint()
	if nanoseconds >= uint64(time.Second) {
		r.fail(ErrDamaged)
	}
	if r.err == nil {
		r.lastSeconds = seconds
		*v.Addr().Interface().(*time.Time) = time.Unix(seconds, int64(nanoseconds)).UTC()
	}
}

// maxPrealloc bounds the elements allocated before one was read: a forged length costs little.
const maxPrealloc = 1024

// length is that of a slice or a map; false for nil.
func (r *Reader) length() (n int, ok bool) {
	length := r.uvarint()
	if length == 0 {
		return 0, false
	}
	if length-1 > uint64(len(r.in)) || length > math.MaxInt32 {
		r.fail(ErrDamaged)
		return 0, false
	}
	return int(length - 1), true
}

func readBytes(r *Reader, v reflect.Value) {
	if n, ok := r.length(); ok {
		v.SetBytes(append([]byte{}, r.bytes(uint64(n))...))
	}
}

func readSlice(r *Reader, v reflect.Value, element *codec) {
	n, ok := r.length()
	if !ok {
		return
	}
	if n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return
	}
	for i := 0; i < n && r.err == nil; i++ {
		if i == v.Cap() {
			v.Grow(min(n-i, max(i, maxPrealloc)))
		}
		v.SetLen(i + 1)
		element.read(r, v.Index(i))
	}
	v.SetCap(v.Len()) // who appends to what others share gets room of their own
}

func readMap(r *Reader, v reflect.Value, key, element *codec) {
	n, ok := r.length()
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), min(n, maxPrealloc)))
	for i := 0; i < n && r.err == nil; i++ {
		k, value := reflect.New(key.goType).Elem(), reflect.New(element.goType).Elem()
		key.read(r, k)
		element.read(r, value)
		v.SetMapIndex(k, value)
	}
}

func readStruct(r *Reader, v reflect.Value, p *codec) {
	length := r.bytes(1)
	if r.err != nil {
		return
	}
	bits := r.bytes(uint64(length[0]))
	for i := 0; i < 8*len(bits) && r.err == nil; i++ {
		if bits[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if i >= len(p.fields) {
			r.fail(fmt.Errorf("field %d of %s: %w", i+1, p.goType, ErrUnknown))
			return
		}
		f := &p.fields[i]
		f.codec.readField(r, v.Field(f.index))
	}
}

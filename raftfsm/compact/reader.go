package compact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

var (
	// ErrUnknown is what Read answers to a field that the type does not have.
	ErrUnknown = errors.New("a field is not known")
	// ErrDamaged is what Read answers to what no Writer has written.
	ErrDamaged = errors.New("the bytes are damaged or cut short")
)

// Reader reads the values of one stream in the order in which they were written. The zero value begins a stream. After an error
// it is not to be used any more.
type Reader struct {
	in    []byte
	known []string
	last  int64
	read  map[aside]reflect.Value
	err   error
}

// aside is a value that many structs have.
type aside struct {
	plan *plan
	text string
}

// Read reads the bytes of one value into what into points to, which has to be zero. Errors wrap ErrUnknown or ErrDamaged.
func (r *Reader) Read(value []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	r.in = value
	return r.whole(planOf(v.Type()), v)
}

// whole reads a value that nothing follows.
func (r *Reader) whole(p *plan, v reflect.Value) error {
	p.read(r, v)
	if r.err == nil && len(r.in) > 0 {
		r.fail(fmt.Errorf("%d bytes follow the value: %w", len(r.in), ErrDamaged))
	}
	return r.err
}

// fail remembers the first error; what is read after it is zero.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.in = nil
}

func (r *Reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.in)
	r.skip(size)
	return n
}

func (r *Reader) varint() int64 {
	n, size := binary.Varint(r.in)
	r.skip(size)
	return n
}

// skip goes on after a number of that size: 0 or less when there was none.
func (r *Reader) skip(size int) {
	if size <= 0 {
		r.fail(ErrDamaged)
		return
	}
	r.in = r.in[size:]
}

// bytes are the next n; they are the stream's own.
func (r *Reader) bytes(n uint64) []byte {
	if n > uint64(len(r.in)) {
		r.fail(ErrDamaged)
		return nil
	}
	taken := r.in[:n]
	r.in = r.in[n:]
	return taken
}

func (r *Reader) flag() bool {
	b := r.bytes(1)
	if len(b) == 1 && b[0] > 1 {
		r.fail(ErrDamaged)
	}
	return len(b) == 1 && b[0] == 1
}

func readBool(r *Reader, v reflect.Value) { v.SetBool(r.flag()) }

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

func readString(r *Reader, v reflect.Value) { v.SetString(r.text()) }
func readOwn(r *Reader, v reflect.Value)    { v.SetString(r.own()) }

func (r *Reader) text() string {
	number := r.uvarint()
	if number > uint64(len(r.known)) {
		r.fail(ErrDamaged)
	}
	if r.err != nil {
		return ""
	}
	if number > 0 {
		return r.known[number-1]
	}
	s := r.own()
	if r.err == nil && len(r.known) < maxKnown {
		r.known = append(r.known, s)
	}
	return s
}

func (r *Reader) own() string {
	header := r.uvarint()
	packed := r.bytes(header / forms)
	if r.err != nil {
		return ""
	}
	s, ok := unpack(header%forms, packed)
	if !ok {
		r.fail(ErrDamaged)
	}
	return s
}

// same reads a value that stands aside, or shares it when it was read before.
func (r *Reader) same(p *plan, v reflect.Value) {
	s := r.text()
	if r.err != nil {
		return
	}
	key := aside{p, s}
	value, known := r.read[key]
	if !known {
		alone := Reader{in: []byte(s)}
		value = reflect.New(p.of).Elem()
		if err := alone.whole(p, value); err != nil {
			r.fail(err)
			return
		}
		if r.read == nil {
			r.read = map[aside]reflect.Value{}
		}
		if len(r.read) < maxKnown {
			r.read[key] = value
		}
	}
	v.Set(value)
}

func readTime(r *Reader, v reflect.Value) {
	seconds, nanoseconds := r.last+r.varint(), r.uvarint()
	if nanoseconds >= uint64(time.Second) {
		r.fail(ErrDamaged)
	}
	if r.err == nil {
		r.last = seconds
		*v.Addr().Interface().(*time.Time) = time.Unix(seconds, int64(nanoseconds)).UTC()
	}
}

// atOnce is how many elements are made room for before one of them was read: a length that is made up costs little.
const atOnce = 1024

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

func readSlice(r *Reader, v reflect.Value, element *plan) {
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
			v.Grow(min(n-i, max(i, atOnce)))
		}
		v.SetLen(i + 1)
		element.read(r, v.Index(i))
	}
	v.SetCap(v.Len()) // who appends to what others share gets room of their own
}

func readMap(r *Reader, v reflect.Value, key, element *plan) {
	n, ok := r.length()
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), min(n, atOnce)))
	for i := 0; i < n && r.err == nil; i++ {
		k, value := reflect.New(key.of).Elem(), reflect.New(element.of).Elem()
		key.read(r, k)
		element.read(r, value)
		v.SetMapIndex(k, value)
	}
}

func readStruct(r *Reader, v reflect.Value, p *plan) {
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
			r.fail(fmt.Errorf("field %d of %s: %w", i+1, p.of, ErrUnknown))
			return
		}
		f := &p.fields[i]
		f.plan.readField(r, v.Field(f.at))
	}
}

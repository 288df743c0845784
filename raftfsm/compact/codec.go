package compact

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// codec writes and reads values of one type.
type codec struct {
	goType   reflect.Type
	wireType string // in a word: two plans that read the same bytes have the same
	isZero   func(v reflect.Value) bool
	write    func(w *Writer, v reflect.Value)
	read     func(r *Reader, v reflect.Value) // into a zero value

	// writeField and readField are write and read of a field that is known not to be zero.
	writeField func(w *Writer, v reflect.Value)
	readField  func(r *Reader, v reflect.Value)

	elems  []*codec // of a slice, a map, a pointer: of what is in it
	fields []field  // of a struct
	bitmap []byte   // one for each field, all zero
}

type field struct {
	name   string // that of JSON, for people
	index  int
	codec  *codec
	isZero func(v reflect.Value) bool
}

var (
	codecs   = map[codecKey]*codec{}
	codecsMu sync.Mutex
	timeType = reflect.TypeFor[time.Time]()
)

// codecKey separates the codec of strings that are not interned from that of others.
type codecKey struct {
	goType   reflect.Type
	noIntern bool
}

// Fields lists the fields of each struct in the type of a value, in their order, as NAME:TYPE. Tests compare them with the released
// ones.
func Fields(value any) map[string][]string {
	all := map[string][]string{}
	codecOf(reflect.TypeOf(value)).describe(all)
	return all
}

func (p *codec) describe(all map[string][]string) {
	name := p.goType.String()
	if len(p.fields) > 0 && all[name] == nil {
		for i := range p.fields {
			all[name] = append(all[name], p.fields[i].name+":"+p.fields[i].codec.wireType)
		}
		for i := range p.fields {
			p.fields[i].codec.describe(all)
		}
	}
	for _, part := range p.elems {
		part.describe(all)
	}
}

// codecOf panics for types without an encoding: functions, channels, interfaces, floats, arrays, structs with private fields.
func codecOf(of reflect.Type) *codec {
	codecsMu.Lock()
	defer codecsMu.Unlock()
	return codecFor(codecKey{goType: of})
}

func codecFor(k codecKey) *codec {
	if known := codecs[k]; known != nil {
		return known
	}
	p := &codec{goType: k.goType, wireType: k.goType.String(), isZero: reflect.Value.IsZero}
	codecs[k] = p // before its parts: types may refer to themselves
	if form := FormOf(k.goType); form != k.goType {
		p.initPacked(form, k.noIntern)
	} else {
		p.init(k)
	}
	if p.writeField == nil {
		p.writeField, p.readField = p.write, p.read
	}
	return p
}

func (p *codec) init(k codecKey) {
	switch k.goType.Kind() {
	case reflect.Bool:
		p.wireType, p.write, p.read = "bool", writeBool, readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.wireType, p.write, p.read = "int", writeInt, readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.wireType, p.write, p.read = "uint", writeUint, readUint
	case reflect.String:
		p.wireType, p.write, p.read = "text", writeString, readString
		if k.noIntern {
			p.wireType, p.write, p.read = "own", writeText, readText
		}
	case reflect.Slice:
		p.initSlice(k.noIntern)
	case reflect.Map:
		p.initMap()
	case reflect.Pointer:
		p.initPointer(k.noIntern)
	case reflect.Struct:
		p.initStruct()
	default:
		panic(fmt.Sprintf("compact: a %s has no form", k.goType))
	}
}

func (p *codec) initSlice(noIntern bool) {
	if p.goType.Elem().Kind() == reflect.Uint8 {
		p.wireType, p.write, p.read = "bytes", writeBytes, readBytes
		return
	}
	element := codecFor(codecKey{p.goType.Elem(), noIntern})
	p.wireType, p.elems = "[]"+element.wireType, []*codec{element}
	p.write = func(w *Writer, v reflect.Value) { writeSlice(w, v, element) }
	p.read = func(r *Reader, v reflect.Value) { readSlice(r, v, element) }
}

func (p *codec) initMap() {
	if p.goType.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("compact: a %s has no form: only strings can be keys", p.goType))
	}
	key, element := codecFor(codecKey{goType: p.goType.Key()}), codecFor(codecKey{goType: p.goType.Elem()})
	p.wireType, p.elems = "map-"+element.wireType, []*codec{element}
	p.write = func(w *Writer, v reflect.Value) { writeMap(w, v, key, element) }
	p.read = func(r *Reader, v reflect.Value) { readMap(r, v, key, element) }
}

func (p *codec) initPointer(noIntern bool) {
	element := codecFor(codecKey{p.goType.Elem(), noIntern})
	p.wireType, p.elems = "*"+element.wireType, []*codec{element}
	p.writeField = func(w *Writer, v reflect.Value) { element.write(w, v.Elem()) }
	p.readField = func(r *Reader, v reflect.Value) {
		v.Set(reflect.New(element.goType))
		element.read(r, v.Elem())
	}
	p.write = func(w *Writer, v reflect.Value) {
		if v.IsNil() {
			w.out = append(w.out, 0)
			return
		}
		w.out = append(w.out, 1)
		p.writeField(w, v)
	}
	p.read = func(r *Reader, v reflect.Value) {
		if r.bit() {
			p.readField(r, v)
		}
	}
}

func (p *codec) initStruct() {
	if p.goType == timeType {
		p.write, p.read = writeTime, readTime
		p.isZero = func(v reflect.Value) bool { return v.Addr().Interface().(*time.Time).IsZero() }
		return
	}
	for i := range p.goType.NumField() {
		f := p.goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("compact: %s has a private field %s", p.goType, f.Name))
		}
		part := codecFor(codecKey{f.Type, f.Tag.Get("compact") == "own"})
		if f.Tag.Get("compact") == "same" {
			part = part.internedCodec()
		}
		zero := part.isZero
		if options == "omitempty" && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) {
			zero = isEmpty
		}
		p.fields = append(p.fields, field{cmp.Or(name, f.Name), i, part, zero})
	}
	p.isZero = func(v reflect.Value) bool { return v.IsZero() || isZeroByField(v, p) }
	p.bitmap = make([]byte, (len(p.fields)+7)/8)
	p.write = func(w *Writer, v reflect.Value) { writeStruct(w, v, p) }
	p.read = func(r *Reader, v reflect.Value) { readStruct(r, v, p) }
}

// internedCodec is for a field that has the same value in many structs: the value is written as a text, which is interned, and all
// structs share what was read.
func (p *codec) internedCodec() *codec {
	write := func(w *Writer, v reflect.Value) { w.internedValue(p, v) }
	read := func(r *Reader, v reflect.Value) { r.internedValue(p, v) }
	return &codec{goType: p.goType, wireType: "same-" + p.wireType, isZero: p.isZero, write: write, read: read, writeField: write, readField: read, elems: []*codec{p}}
}

func isEmpty(v reflect.Value) bool { return v.Len() == 0 }

// isZeroByField compares what is written: an empty list may be zero, and so is the zero time in any zone.
func isZeroByField(v reflect.Value, p *codec) bool {
	for i := range p.fields {
		if !p.fields[i].isZero(v.Field(p.fields[i].index)) {
			return false
		}
	}
	return true
}

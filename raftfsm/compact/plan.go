package compact

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// plan is how values of a type are written and read.
type plan struct {
	of    reflect.Type
	form  string // in a word: two plans that read the same bytes have the same
	zero  func(v reflect.Value) bool
	write func(w *Writer, v reflect.Value)
	read  func(r *Reader, v reflect.Value) // into a zero value

	// writeField and readField are the same for a field that is not zero.
	writeField func(w *Writer, v reflect.Value)
	readField  func(r *Reader, v reflect.Value)

	parts  []*plan // of a slice, a map, a pointer: of what is in it
	fields []field // of a struct
	bits   []byte  // one for each field, all zero
}

type field struct {
	name string // that of JSON, for people
	at   int
	plan *plan
	zero func(v reflect.Value) bool
}

var (
	plans    = map[planKey]*plan{}
	planning sync.Mutex
	timeType = reflect.TypeFor[time.Time]()
)

// planKey tells the plan of strings that are never known from that of others.
type planKey struct {
	of  reflect.Type
	own bool
}

// Fields tells for each type of struct that is a part of a value's type what its fields are, in their order, as
// NAME:FORM. Whoever changes one compares it with what was released.
func Fields(value any) map[string][]string {
	all := map[string][]string{}
	planOf(reflect.TypeOf(value)).list(all)
	return all
}

func (p *plan) list(all map[string][]string) {
	name := p.of.String()
	if len(p.fields) > 0 && all[name] == nil {
		for i := range p.fields {
			all[name] = append(all[name], p.fields[i].name+":"+p.fields[i].plan.form)
		}
		for i := range p.fields {
			p.fields[i].plan.list(all)
		}
	}
	for _, part := range p.parts {
		part.list(all)
	}
}

// planOf panics for types that have no form here: functions, channels, interfaces, floats, arrays, structs with private fields.
func planOf(of reflect.Type) *plan {
	planning.Lock()
	defer planning.Unlock()
	return planFor(planKey{of: of})
}

func planFor(k planKey) *plan {
	if known := plans[k]; known != nil {
		return known
	}
	p := &plan{of: k.of, form: k.of.String(), zero: reflect.Value.IsZero}
	plans[k] = p // before its parts: types may refer to themselves
	switch k.of.Kind() {
	case reflect.Bool:
		p.form, p.write, p.read = "bool", writeBool, readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.form, p.write, p.read = "int", writeInt, readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.form, p.write, p.read = "uint", writeUint, readUint
	case reflect.String:
		p.form, p.write, p.read = "text", writeString, readString
		if k.own {
			p.form, p.write, p.read = "own", writeOwn, readOwn
		}
	case reflect.Slice:
		p.ofSlice(k.own)
	case reflect.Map:
		p.ofMap()
	case reflect.Pointer:
		p.ofPointer(k.own)
	case reflect.Struct:
		p.ofStruct()
	default:
		panic(fmt.Sprintf("compact: a %s has no form", k.of))
	}
	if p.writeField == nil {
		p.writeField, p.readField = p.write, p.read
	}
	return p
}

func (p *plan) ofSlice(own bool) {
	if p.of.Elem().Kind() == reflect.Uint8 {
		p.form, p.write, p.read = "bytes", writeBytes, readBytes
		return
	}
	element := planFor(planKey{p.of.Elem(), own})
	p.form, p.parts = "[]"+element.form, []*plan{element}
	p.write = func(w *Writer, v reflect.Value) { writeSlice(w, v, element) }
	p.read = func(r *Reader, v reflect.Value) { readSlice(r, v, element) }
}

func (p *plan) ofMap() {
	if p.of.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("compact: a %s has no form: only strings can be keys", p.of))
	}
	key, element := planFor(planKey{of: p.of.Key()}), planFor(planKey{of: p.of.Elem()})
	p.form, p.parts = "map-"+element.form, []*plan{element}
	p.write = func(w *Writer, v reflect.Value) { writeMap(w, v, key, element) }
	p.read = func(r *Reader, v reflect.Value) { readMap(r, v, key, element) }
}

func (p *plan) ofPointer(own bool) {
	element := planFor(planKey{p.of.Elem(), own})
	p.form, p.parts = "*"+element.form, []*plan{element}
	p.writeField = func(w *Writer, v reflect.Value) { element.write(w, v.Elem()) }
	p.readField = func(r *Reader, v reflect.Value) {
		v.Set(reflect.New(element.of))
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
		if r.flag() {
			p.readField(r, v)
		}
	}
}

func (p *plan) ofStruct() {
	if p.of == timeType {
		p.write, p.read = writeTime, readTime
		p.zero = func(v reflect.Value) bool { return v.Addr().Interface().(*time.Time).IsZero() }
		return
	}
	for i := range p.of.NumField() {
		f := p.of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("compact: %s has a private field %s", p.of, f.Name))
		}
		part := planFor(planKey{f.Type, f.Tag.Get("compact") == "own"})
		if f.Tag.Get("compact") == "same" {
			part = part.remembered()
		}
		zero := part.zero
		if options == "omitempty" && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) {
			zero = isEmpty
		}
		p.fields = append(p.fields, field{cmp.Or(name, f.Name), i, part, zero})
	}
	p.zero = func(v reflect.Value) bool { return v.IsZero() || isZeroByField(v, p) }
	p.bits = make([]byte, (len(p.fields)+7)/8)
	p.write = func(w *Writer, v reflect.Value) { writeStruct(w, v, p) }
	p.read = func(r *Reader, v reflect.Value) { readStruct(r, v, p) }
}

// remembered is the plan of a field that has the same value in many structs: it is written as a text, which is known from then on, and
// all that have it share what was read.
func (p *plan) remembered() *plan {
	write := func(w *Writer, v reflect.Value) { w.aside(p, v) }
	read := func(r *Reader, v reflect.Value) { r.same(p, v) }
	return &plan{of: p.of, form: "same-" + p.form, zero: p.zero, write: write, read: read, writeField: write, readField: read, parts: []*plan{p}}
}

func isEmpty(v reflect.Value) bool { return v.Len() == 0 }

// isZeroByField goes by what is written: a list of no length may be zero, and so is a moment in any zone.
func isZeroByField(v reflect.Value, p *plan) bool {
	for i := range p.fields {
		if !p.fields[i].zero(v.Field(p.fields[i].at)) {
			return false
		}
	}
	return true
}

package raftfsm

import (
	"fmt"
	"reflect"
	"testing"
	"time"
	"unique"

	"github.com/fxamacker/cbor/v2"

	"pinion/raftfsm/compact"
	"pinion/raftfsm/spec"
)

// BenchmarkEncodings compares package compact with CBOR on the entry of ten tasks and on the records of a snapshot of 8,000 tasks. CBOR
// gets what is best for it: fields by number, zero fields left out, moments as nanoseconds, canonical order, unknown fields refused; and
// once again with texts interned while they are read, as compact does.
func BenchmarkEncodings(b *testing.B) {
	run := Launch{Cluster: spec.DefaultCluster, Token: "token", TokenHash: "a", At: epoch}
	for i := range 10 {
		run.Tasks = append(run.Tasks, task(fmt.Sprintf("%032x", i), fmt.Sprintf("%032x", 1<<20), fmt.Sprintf("GPU-00000000-0000-0000-0000-%012x", i)))
	}
	b.Run("entry", func(b *testing.B) { compareEncodings(b, []any{&LaunchTasks{[]Launch{run}}}) })
	view, objects := fleet(b, 1000).View(), []any{}
	for _, table := range tables {
		for object := range table.Objects(view) {
			objects = append(objects, object)
		}
	}
	b.Run("snapshot", func(b *testing.B) { compareEncodings(b, objects) })
}

// compareEncodings writes the values one after the other, each with its length known to the reader, and reads them back.
func compareEncodings(b *testing.B, values []any) {
	b.Run("compact", func(b *testing.B) {
		measure(b, values, func() (write func(any) []byte, read func([]byte, any)) {
			var w compact.Writer
			var r compact.Reader
			write = func(v any) []byte { return w.Append(nil, v) }
			return write, func(data []byte, into any) { must(b, r.Read(data, into)) }
		})
	})
	for name, intern := range map[string]bool{"cbor": false, "cbor-interned": true} {
		mirrored := make([]any, len(values))
		for i, v := range values {
			mirrored[i] = mirror{intern}.of(reflect.ValueOf(v).Elem()).Addr().Interface()
		}
		encoder, err := cbor.EncOptions{Sort: cbor.SortCanonical}.EncMode()
		must(b, err)
		decoder, err := cbor.DecOptions{ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, DupMapKey: cbor.DupMapKeyEnforcedAPF}.DecMode()
		must(b, err)
		b.Run(name, func(b *testing.B) {
			measure(b, mirrored, func() (write func(any) []byte, read func([]byte, any)) {
				write = func(v any) []byte {
					data, err := encoder.Marshal(v)
					must(b, err)
					return data
				}
				return write, func(data []byte, into any) { must(b, decoder.Unmarshal(data, into)) }
			})
		})
	}
}

func measure(b *testing.B, values []any, begin func() (write func(any) []byte, read func([]byte, any))) {
	var written [][]byte
	b.Run("write", func(b *testing.B) {
		size := 0
		for b.Loop() {
			write, _ := begin()
			written, size = written[:0], 0
			for _, v := range values {
				written = append(written, write(v))
				size += len(written[len(written)-1])
			}
		}
		b.ReportMetric(float64(size), "bytes")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, read := begin()
			for i, data := range written {
				read(data, reflect.New(reflect.TypeOf(values[i]).Elem()).Interface())
			}
		}
	})
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// mirror makes types and values with CBOR's tags of ours.
type mirror struct{ intern bool }

// internedText shares equal texts, as compact does.
type internedText string

// UnmarshalCBOR reads a text.
func (t *internedText) UnmarshalCBOR(data []byte) error {
	var s string
	if err := cbor.Unmarshal(data, &s); err != nil {
		return err
	}
	*t = internedText(unique.Make(s).Value())
	return nil
}

func (m mirror) typeOf(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.String:
		if m.intern {
			return reflect.TypeFor[internedText]()
		}
		return reflect.TypeFor[string]()
	case reflect.Slice:
		return reflect.SliceOf(m.typeOf(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(reflect.TypeFor[string](), m.typeOf(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(m.typeOf(t.Elem()))
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return reflect.TypeFor[int64]()
		}
		fields := make([]reflect.StructField, t.NumField())
		for i := range fields {
			f := t.Field(i)
			own := mirror{intern: m.intern && f.Tag.Get("compact") != "own"}
			fields[i] = reflect.StructField{Name: f.Name, Type: own.typeOf(f.Type), Tag: reflect.StructTag(fmt.Sprintf(`cbor:"%d,keyasint,omitzero"`, i+1))}
		}
		return reflect.StructOf(fields)
	}
	return t
}

func (m mirror) of(v reflect.Value) reflect.Value {
	is := reflect.New(m.typeOf(v.Type())).Elem()
	m.copy(is, v)
	return is
}

func (m mirror) copy(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			m.copy(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMap(to.Type()))
		for _, k := range from.MapKeys() {
			element := reflect.New(to.Type().Elem()).Elem()
			m.copy(element, from.MapIndex(k))
			to.SetMapIndex(k.Convert(to.Type().Key()), element)
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			m.copy(to.Elem(), from.Elem())
		}
	case reflect.Struct:
		if at, ok := from.Interface().(time.Time); ok {
			if !at.IsZero() {
				to.SetInt(at.UnixNano())
			}
			return
		}
		for i := range from.NumField() {
			m.copy(to.Field(i), from.Field(i))
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}

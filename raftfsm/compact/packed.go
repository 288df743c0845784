package compact

import "reflect"

// Packed is a type that takes less memory than the form in which it is written, here as in JSON: its methods, of the pointer, turn one into the other.
type Packed interface {
	Unpack() (form any) // a pointer to a new value of the form, which is one type
	Pack(form any)      // takes what Unpack returns
}

// FormOf returns the type in which values of a type are written: another one if it is Packed.
func FormOf(t reflect.Type) reflect.Type {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[Packed]()) {
		return t
	}
	return reflect.TypeOf(reflect.New(t).Interface().(Packed).Unpack()).Elem()
}

// unpacked is the form of a Packed value.
func unpacked(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return reflect.ValueOf(v.Addr().Interface().(Packed).Unpack()).Elem()
	}
	own := reflect.New(v.Type())
	own.Elem().Set(v)
	return reflect.ValueOf(own.Interface().(Packed).Unpack()).Elem()
}

func (p *codec) initPacked(of reflect.Type, noIntern bool) {
	form := codecFor(codecKey{of, noIntern})
	p.wireType, p.elems = form.wireType, []*codec{form}
	p.write = func(w *Writer, v reflect.Value) { form.write(w, unpacked(v)) }
	p.read = func(r *Reader, v reflect.Value) {
		read := reflect.New(of)
		form.read(r, read.Elem())
		v.Addr().Interface().(Packed).Pack(read.Interface())
	}
}

package compact

import (
	"fmt"
	"reflect"
	"strconv"
)

// Levels holds the fields of a type, nested ones included, that were added after feature level 1. Such a field has its
// level in a tag, `level:"2"`: servers of an older level do not get a command in which it is set.
type Levels struct {
	fields []leveledField // of a struct
	elem   *Levels        // of what a slice, a map or a pointer has
	packed bool           // elem is of the form of a Packed type
}

type leveledField struct {
	index int
	level int
	inner *Levels
}

// LevelsOf returns nil when no field was added later.
func LevelsOf(t reflect.Type) *Levels {
	if form := FormOf(t); form != t {
		if elem := LevelsOf(form); elem != nil {
			return &Levels{elem: elem, packed: true}
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if elem := LevelsOf(t.Elem()); elem != nil {
			return &Levels{elem: elem}
		}
	case reflect.Struct:
		var levels Levels
		for i := range t.NumField() {
			f := leveledField{index: i, level: FieldLevel(t.Field(i)), inner: LevelsOf(t.Field(i).Type)}
			if f.level > 1 || f.inner != nil {
				levels.fields = append(levels.fields, f)
			}
		}
		if levels.fields != nil {
			return &levels
		}
	}
	return nil
}

// FieldLevel returns the level in a field's tag, 1 without one.
func FieldLevel(f reflect.StructField) int {
	tag, tagged := f.Tag.Lookup("level")
	if !tagged {
		return 1
	}
	level, err := strconv.Atoi(tag)
	if err != nil || level < 1 {
		panic(fmt.Sprintf("field %s: the tag level is %q, not a feature level", f.Name, tag))
	}
	return level
}

// Needed returns the highest level of the fields that are set in the value.
func (l *Levels) Needed(v reflect.Value) int {
	needed := 1
	if l == nil || v.IsZero() {
		return needed
	}
	if l.packed {
		return l.elem.Needed(unpacked(v))
	}
	switch v.Kind() {
	case reflect.Pointer:
		return l.elem.Needed(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			needed = max(needed, l.elem.Needed(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			needed = max(needed, l.elem.Needed(v.MapIndex(k)))
		}
	case reflect.Struct:
		for _, f := range l.fields {
			if field := v.Field(f.index); !field.IsZero() {
				needed = max(needed, f.level, f.inner.Needed(field))
			}
		}
	}
	return needed
}

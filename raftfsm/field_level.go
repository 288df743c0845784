package raftfsm

import (
	"fmt"
	"reflect"
	"strconv"
)

// fieldLevels finds the fields of a command, and of everything in it, that came after feature level 1. Such a field has the level that
// brought it in a tag, `level:"2"`: a command that holds something there is not for servers of an older level.
type fieldLevels struct {
	fields []leveledField // of a struct
	elem   *fieldLevels   // of what a slice, a map or a pointer has
}

type leveledField struct {
	index int
	level int
	inner *fieldLevels
}

// fieldLevelsOf is nil when no field came later.
func fieldLevelsOf(t reflect.Type) *fieldLevels {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if elem := fieldLevelsOf(t.Elem()); elem != nil {
			return &fieldLevels{elem: elem}
		}
	case reflect.Struct:
		var levels fieldLevels
		for i := range t.NumField() {
			f := leveledField{index: i, level: fieldLevel(t.Field(i)), inner: fieldLevelsOf(t.Field(i).Type)}
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

// fieldLevel is the level that brought a field: that of its tag, 1 without one.
func fieldLevel(f reflect.StructField) int {
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

// needed is the level of the newest field that holds something in the value.
func (l *fieldLevels) needed(v reflect.Value) int {
	needed := 1
	if l == nil || v.IsZero() {
		return needed
	}
	switch v.Kind() {
	case reflect.Pointer:
		return l.elem.needed(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			needed = max(needed, l.elem.needed(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			needed = max(needed, l.elem.needed(v.MapIndex(k)))
		}
	case reflect.Struct:
		for _, f := range l.fields {
			if field := v.Field(f.index); !field.IsZero() {
				needed = max(needed, f.level, f.inner.needed(field))
			}
		}
	}
	return needed
}

package raftfsm

import (
	"fmt"
	"reflect"
	"strconv"
)

// FeatureLevel is incremented by each release that adds a command, or a field of a command or an object, that servers of
// the previous release do not understand. A new command has its level in the table of kinds, a new field in its tag (see
// fieldLevels).
const FeatureLevel = 1

// ownLevel is FeatureLevel; tests of later levels raise it.
var ownLevel = FeatureLevel

// ErrTooNew refuses a command that a server of the pool does not understand.
var ErrTooNew = fmt.Errorf("a server of the pool runs an older version of Pinion that cannot do this: upgrade it first (see `pinion hosts`)")

// MinFeatureLevel is the level that every server of the pool understands. A pool without a recorded server has one host,
// the caller.
func (v *View) MinFeatureLevel() int {
	lowest := ownLevel
	for _, host := range v.Servers() {
		lowest = min(lowest, max(host.FeatureLevel, 1))
	}
	return lowest
}

// MayWrite returns ErrTooNew unless every server of the pool understands the command.
func (v *View) MayWrite(c Command) error { return mayWrite(c, v.MinFeatureLevel()) }

// mayWrite returns ErrTooNew unless servers of that level understand the command.
func mayWrite(c Command, understood int) error {
	known := kindsOf(c)
	if len(known) == 0 {
		return nil
	}
	level := max(known[0].level, known[0].fields.needed(reflect.Indirect(reflect.ValueOf(c))))
	if level <= understood {
		return nil
	}
	return fmt.Errorf("%v: %w", known[0].commandType, ErrTooNew)
}

// fieldLevels holds the fields of a type, nested ones included, that were added after feature level 1. Such a field has its
// level in a tag, `level:"2"`: servers of an older level do not get a command in which it is set.
type fieldLevels struct {
	fields []leveledField // of a struct
	elem   *fieldLevels   // of what a slice, a map or a pointer has
}

type leveledField struct {
	index int
	level int
	inner *fieldLevels
}

// fieldLevelsOf returns nil when no field was added later.
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

// fieldLevel returns the level in a field's tag, 1 without one.
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

// needed returns the highest level of the fields that are set in the value.
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

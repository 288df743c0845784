package wire

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// Time is a moment as ECS writes it: a JSON number of seconds since 1970 with milliseconds. Use it with omitzero.
type Time struct {
	time.Time
	iso8601 bool // written as in events; see Dated
}

// NewTime makes a Time of a moment.
func NewTime(t time.Time) Time { return Time{Time: t} }

// UseISO8601 makes every Time in the struct that v points to, at any depth, encode as text in ISO 8601 with milliseconds, as
// events have it.
func UseISO8601(v any) { useISO8601(reflect.ValueOf(v)) }

func useISO8601(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			useISO8601(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			useISO8601(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Time]() {
			v.Addr().Interface().(*Time).iso8601 = true
			return
		}
		for field, value := range v.Fields() {
			if field.IsExported() || field.Anonymous {
				useISO8601(value)
			}
		}
	}
}

// MarshalJSON writes seconds with three decimals, or text.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.iso8601 {
		return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
	}
	ms := t.UnixMilli()
	if ms < 0 {
		return nil, fmt.Errorf("time %v is before 1970", t.Time)
	}
	text := strconv.AppendInt(make([]byte, 0, len("1767323045.678")), ms/1000, 10)
	return append(text, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10)), nil
}

// UnmarshalJSON reads what MarshalJSON writes; null leaves t as it is.
func (t *Time) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("time %s is not a number of seconds", text)
	}
	t.Time = time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()
	return nil
}

// Double is a number that is always written with a decimal point, as ECS writes its doubles.
type Double float64

// MarshalJSON writes 0 as 0.0.
func (d Double) MarshalJSON() ([]byte, error) {
	text := strconv.AppendFloat(nil, float64(d), 'f', -1, 64)
	if !bytes.ContainsRune(text, '.') {
		text = append(text, ".0"...)
	}
	return text, nil
}

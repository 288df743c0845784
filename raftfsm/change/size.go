package change

import (
	"reflect"
	"time"
)

// bytesOf adds up the bytes of a value and of all that it refers to. What two parts of it share counts twice. It does not follow the zone of a
// time, which belongs to the process.
func bytesOf(v reflect.Value) int { return int(v.Type().Size()) + bytesBehind(v) }

// bytesBehind is bytesOf without the value itself.
func bytesBehind(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			return bytesOf(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			size += bytesOf(v.Index(i))
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			size += bytesOf(each.Key()) + bytesOf(each.Value())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range v.NumField() {
			size += bytesBehind(v.Field(i))
		}
	}
	return size
}

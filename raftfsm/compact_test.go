package raftfsm

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/compact"
	"pinion/raftfsm/spec"
)

// stored lists a value of everything that is written in the compact form: the objects of tables, and the commands of such kinds.
func stored() (all []any) {
	for _, table := range tables {
		all = append(all, table.NewObject())
	}
	for _, k := range kinds.All() {
		if isCompact(k) {
			all = append(all, reflect.New(k.Type).Interface())
		}
	}
	return all
}

// isCompact says whether the kind is not in JSON.
func isCompact(k kind) bool {
	body, err := k.Encode(nil, reflect.Zero(k.Type).Interface().(Command))
	return err == nil && !json.Valid(body)
}

// TestTheCompactFormSaysWhatJSONSays holds for every object and every command: servers that read it from either have the same,
// but for the zones of moments.
func TestTheCompactFormSaysWhatJSONSays(t *testing.T) {
	all := stored()
	for _, k := range kinds.All() {
		all = append(all, reflect.New(k.Type).Interface()) // those of JSON too: whichever may become compact
	}
	for _, value := range all {
		of := reflect.TypeOf(value).Elem()
		t.Run(of.String(), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				drawn := reflect.New(of)
				draw(r, drawn.Elem(), 0)
				text, err := json.Marshal(drawn.Interface())
				if err != nil {
					r.Fatal(err)
				}
				fromJSON, fromCompact := reflect.New(of).Interface(), reflect.New(of).Interface()
				if err := codec.JSON.Read(text, fromJSON); err != nil {
					r.Fatal(err)
				}
				packed := new(compact.Writer).Append(nil, drawn.Interface())
				if err := new(compact.Reader).Read(packed, fromCompact); err != nil {
					r.Fatal(err)
				}
				inUTC(reflect.ValueOf(fromJSON).Elem())
				if !reflect.DeepEqual(fromJSON, fromCompact) {
					r.Fatalf("JSON says %+v, compact %+v", fromJSON, fromCompact)
				}
				if again := new(compact.Writer).Append(nil, fromJSON); !bytes.Equal(packed, again) {
					r.Fatalf("% x, but after JSON % x", packed, again)
				}
			})
		})
	}
}

// draw fills a value: often with nothing, sometimes with something empty.
func draw(r *rapid.T, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(pick(r, time.Time{}, epoch, at(-1<<20), epoch.Add(1), epoch.In(time.FixedZone("", 2*60*60)))))
		return
	}
	if packed, is := v.Addr().Interface().(compact.Packed); is {
		form := reflect.New(compact.FormOf(v.Type()))
		draw(r, form.Elem(), depth)
		packed.Pack(form.Interface())
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(r, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(pick(r, 0, 0, 1, -1, rapid.Int64().Draw(r, "number")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(r, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(r, "byte")))
	case reflect.String:
		v.SetString(pick(r, "", "", "a", "größe", "f00f", spec.DefaultCluster, "GPU-0b5e7a10-9c8d-4e6f-8a7b-001122334455", rapid.String().Draw(r, "text")))
	case reflect.Pointer:
		if v.Type().Elem().Kind() != reflect.Struct || depth < 6 {
			if rapid.Bool().Draw(r, "there") {
				v.Set(reflect.New(v.Type().Elem()))
				draw(r, v.Elem(), depth+1)
			}
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 2).Draw(r, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				draw(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 2).Draw(r, "length"); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				k, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				draw(r, k, depth+1)
				draw(r, value, depth+1)
				v.SetMapIndex(k, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(r, v.Field(i), depth+1)
		}
	default:
		r.Fatalf("nothing is known of a %s", v.Type())
	}
}

// inUTC moves all moments there.
func inUTC(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(v.Interface().(time.Time).UTC()))
		return
	}
	if v.CanAddr() {
		if packed, is := v.Addr().Interface().(compact.Packed); is {
			form := packed.Unpack()
			inUTC(reflect.ValueOf(form).Elem())
			packed.Pack(form)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			inUTC(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			inUTC(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(k))
			inUTC(value)
			v.SetMapIndex(k, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			inUTC(v.Field(i))
		}
	}
}

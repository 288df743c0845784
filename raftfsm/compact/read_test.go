package compact

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestWhatNoWriterWroteIsDamaged(t *testing.T) {
	cases := []struct {
		name, bytes string
		into        any
	}{
		{"nothing", "", new(int)},
		{"a number that does not end", "\x80", new(int)},
		{"a number that is too long", strings.Repeat("\xff", 11), new(int64)},
		{"a number that is too large", "\x80\x02", new(int8)},
		{"one without a sign", "\x80\x02", new(uint8)},
		{"more than a value", "\x02\x00", new(int)},
		{"neither true nor false", "\x02", new(bool)},
		{"a text that is not known", "\x01", new(string)},
		{"a text cut short", "\x00\x14ab", new(string)},
		{"a text longer than anything", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", new(string)},
		{"a UUID that is too short", "\x00\x0a\x00\x00", new(string)},
		{"a UUID of a GPU that is too short", "\x00\x0b\x00\x00", new(string)},
		{"a list longer than the rest", "\x05\x00\x00\x00", new([]bool)},
		{"a list longer than anything", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", new([]all)},
		{"bytes cut short", "\x05ab", new([]byte)},
		{"a map cut short", "\x02\x00\x04a", new(map[string]int)},
		{"more nanoseconds than a second has", "\x02\x80\x94\xeb\xdc\x03", new(time.Time)},
		{"a pointer that is neither", "\x02", new([]*int)},
		{"a struct without its bits", "\x03\x01", new(all)},
		{"a struct without its fields", "\x01\x02", new(all)},
		{"something shared that is damaged", "\x03\x00\x00\x01\x00\x04\xff", new(all)},
		{"something shared with more behind it", "\x03\x00\x00\x01\x00\x0c\x01\x00\x00", new(all)},
	}
	for _, c := range cases {
		if err := new(Reader).Read([]byte(c.bytes), c.into); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAFieldOfALaterVersionIsUnknown(t *testing.T) {
	cases := []struct {
		name  string
		value any
		into  any
	}{
		{"one more field", &struct{ A, B int }{0, 1}, &struct{ A int }{}},
		{"a field within more bits", &struct{ A, B, C, D, E, F, G, H, I int }{I: 1}, &struct{ A int }{}},
		{"in a struct within", &struct{ P []struct{ A, B int } }{[]struct{ A, B int }{{0, 1}}}, &struct{ P []struct{ A int } }{}},
		{"in something shared", &struct {
			P struct{ A, B int } `compact:"same"`
		}{struct{ A, B int }{0, 1}}, &struct {
			P struct{ A int } `compact:"same"`
		}{}},
	}
	for _, c := range cases {
		err := new(Reader).Read(new(Writer).Append(nil, c.value), c.into)
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "field ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	var older struct{ A int }
	unused := struct{ A, B, C, D, E, F, G, H, I int }{A: 1}
	if err := new(Reader).Read(new(Writer).Append(nil, &unused), &older); err != nil || older.A != 1 {
		t.Errorf("a later version that has nothing in its fields: %+v, %v", older, err)
	}
	var newer struct{ A, B, C, D, E, F, G, H, I int }
	if err := new(Reader).Read(new(Writer).Append(nil, &older), &newer); err != nil || newer.A != 1 {
		t.Errorf("an earlier version: %+v, %v", newer, err)
	}
}

// FuzzRead has any bytes read: they are refused in words, or what is read is written so that it comes back.
func FuzzRead(f *testing.F) {
	zero, date := 0, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, seed := range []all{
		{}, {Flag: true, Small: -1, Large: math.MinInt64, Byte: 255, Word: math.MaxUint64, Text: "0123456789abcdef", Data: []byte{1}},
		{List: []string{"a", "a", ""}, Nested: []part{{"a", date, []part{{Name: "b"}}}}, Pointer: &zero, Part: &part{}, At: date},
		{Map: map[string]part{"a": {}, "b": {At: date}}, LeftMap: map[status]int{"a": 1}, Tags: []part{{Name: "a"}}, Shared: part{Name: "a"}},
	} {
		f.Add(new(Writer).Append(nil, &seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, again all
		if err := new(Reader).Read(data, &got); err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnknown) {
				t.Fatalf("% x: %v", data, err)
			}
			return
		}
		written := new(Writer).Append(nil, &got)
		if err := new(Reader).Read(written, &again); err != nil || !bytes.Equal(written, new(Writer).Append(nil, &again)) {
			t.Fatalf("% x: %+v came back as %+v, %v", data, got, again, err)
		}
	})
}

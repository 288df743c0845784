package compact

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// all has every form.
type all struct {
	Flag    bool
	Small   int8
	Large   int64
	Byte    uint8
	Word    uint64
	Text    status
	Data    []byte
	List    []string
	Left    []string `json:",omitempty"` // empty is nil
	Nested  []part
	Map     map[string]part
	LeftMap map[status]int `json:",omitempty"`
	Pointer *int
	Part    *part
	At      time.Time
	Inside  part
	Shared  part   `compact:"same"`
	Tags    []part `compact:"same"`
	Skipped func() `json:"-"`
}

type status string

type part struct {
	Name string
	At   time.Time
	More []part `json:",omitempty"` // of its own type
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	zero, date := 0, time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	cases := []struct {
		name  string
		value all
	}{
		{"nothing", all{}},
		{"true", all{Flag: true}},
		{"the least numbers", all{Small: math.MinInt8, Large: math.MinInt64}},
		{"the greatest numbers", all{Small: math.MaxInt8, Large: math.MaxInt64, Byte: math.MaxUint8, Word: math.MaxUint64}},
		{"a text of a type of its own", all{Text: "RUNNING"}},
		{"bytes", all{Data: []byte{0, 1, 255}}},
		{"no bytes", all{Data: []byte{}}},
		{"an empty list", all{List: []string{}}},
		{"a list of empty texts", all{List: []string{"", ""}}},
		{"a list of empty structs", all{Nested: []part{{}, {}}}},
		{"an empty map", all{Map: map[string]part{}}},
		{"a map of empty structs", all{Map: map[string]part{"": {}, "a": {}}}},
		{"a pointer to zero", all{Pointer: &zero}},
		{"a pointer to an empty struct", all{Part: &part{}}},
		{"a moment", all{At: date}},
		{"the first moment", all{At: time.Unix(0, 0).UTC()}},
		{"a moment long ago", all{At: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)}},
		{"a moment far away", all{At: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)}},
		{"structs in structs", all{Inside: part{"a", date, []part{{Name: "b", More: []part{{At: date}}}}}}},
		{"what many have", all{Shared: part{Name: "a"}, Tags: []part{{Name: "b"}, {}}}},
		{"an empty list of what many have", all{Tags: []part{}}},
	}
	var w Writer // one stream for all of them: texts and moments go by what came before
	var r Reader
	for _, c := range cases {
		var got all
		if err := r.Read(w.Append(nil, &c.value), &got); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s: %+v came back as %+v, %v", c.name, c.value, got, err)
		}
	}
}

func TestWhatCannotBeToldApartIsWrittenAlike(t *testing.T) {
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	zone := time.FixedZone("", 2*60*60)
	cases := []struct {
		name           string
		value, comesAs all
	}{
		{"a moment in a zone", all{At: date.In(zone)}, all{At: date}},
		{"no moment in a zone", all{At: time.Time{}.In(zone)}, all{}},
		{"no moment in a zone, in a struct", all{Inside: part{At: time.Time{}.In(zone)}}, all{}},
		{"a list that is left out when it is empty", all{Left: []string{}}, all{}},
		{"a map that is left out when it is empty", all{LeftMap: map[status]int{}}, all{}},
		{"a struct of such a list", all{Inside: part{More: []part{}}, Shared: part{More: []part{}}}, all{}},
		{"a field that JSON does not have", all{Skipped: func() {}}, all{}},
	}
	for _, c := range cases {
		written, expected := new(Writer).Append(nil, &c.value), new(Writer).Append(nil, &c.comesAs)
		if string(written) != string(expected) {
			t.Errorf("%s: % x, want % x", c.name, written, expected)
		}
		var got all
		if err := new(Reader).Read(written, &got); err != nil || !reflect.DeepEqual(got, c.comesAs) {
			t.Errorf("%s: came back as %+v, %v", c.name, got, err)
		}
	}
}

func TestMapsAreWrittenInTheOrderOfTheirKeys(t *testing.T) {
	value := map[string]int{}
	for _, k := range []string{"e", "b", "d", "a", "c", "f", "g"} {
		value[k] = int(k[0])
	}
	first := new(Writer).Append(nil, &value)
	for range 20 {
		if again := new(Writer).Append(nil, &value); string(again) != string(first) {
			t.Fatalf("% x, then % x", first, again)
		}
	}
}

func TestStructsShareWhatManyOfThemHave(t *testing.T) {
	value := []all{{Tags: []part{{Name: "a"}}}, {Tags: []part{{Name: "a"}}}, {Tags: []part{{Name: "b"}}}}
	var got []all
	if err := new(Reader).Read(new(Writer).Append(nil, &value), &got); err != nil || !reflect.DeepEqual(got, value) {
		t.Fatalf("%+v, %v", got, err)
	}
	if &got[0].Tags[0] != &got[1].Tags[0] || cap(got[0].Tags) != len(got[0].Tags) {
		t.Error("each has its own, or one could append to that of the other")
	}
}

func TestFieldsAreListedInTheirOrder(t *testing.T) {
	got := Fields([]all{})
	if len(got) != 2 || !reflect.DeepEqual(got["compact.part"], []string{"Name:text", "At:time.Time", "More:[]compact.part"}) || len(got["compact.all"]) != 18 {
		t.Errorf("%v", got)
	}
}

func TestTypesWithoutAFormAreRefused(t *testing.T) {
	for name, value := range map[string]any{
		"a function":               new(func()),
		"a channel":                new(chan int),
		"an interface":             new(error),
		"a float":                  new(float64),
		"an array":                 new([2]int),
		"a map by number":          new(map[int]string),
		"a struct with its secret": new(struct{ secret int }),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was written", name)
				}
			}()
			new(Writer).Append(nil, value)
		}()
	}
}

// letters is a list of texts of one letter each, kept as one text.
type letters string

func (l *letters) Unpack() any {
	list := strings.Split(string(*l), "")
	return &list
}

func (l *letters) Pack(form any) { *l = letters(strings.Join(*form.(*[]string), "")) }

func TestAPackedTypeIsWrittenAsItsForm(t *testing.T) {
	packed := struct {
		Letters letters `json:",omitempty"`
		Sets    map[string]letters
		Own     *letters `compact:"own"`
	}{"aba", map[string]letters{"x": "ab"}, new(letters)}
	*packed.Own = "ca"
	form := struct {
		Letters []string `json:",omitempty"`
		Sets    map[string][]string
		Own     *[]string `compact:"own"`
	}{[]string{"a", "b", "a"}, map[string][]string{"x": {"a", "b"}}, &[]string{"c", "a"}}
	written := new(Writer).Append(nil, &packed)
	if expected := new(Writer).Append(nil, &form); string(written) != string(expected) {
		t.Errorf("% x, want % x", written, expected)
	}
	got := packed
	got.Letters, got.Sets, got.Own = "", nil, nil
	if err := new(Reader).Read(written, &got); err != nil || !reflect.DeepEqual(got, packed) {
		t.Errorf("%+v, %v", got, err)
	}
	if is, was := Fields(&packed), Fields(&form); len(is) != len(was) {
		t.Errorf("fields %v, want %v", is, was)
	}
}

func TestALevelInTheFormOfAPackedTypeIsNeeded(t *testing.T) {
	type leveled struct {
		Packed packedPart
	}
	levels := LevelsOf(reflect.TypeFor[leveled]())
	for value, want := range map[leveled]int{{}: 1, {"a"}: 2} {
		if needed := levels.Needed(reflect.ValueOf(value)); needed != want {
			t.Errorf("%+v needs the level %d, not %d", value, needed, want)
		}
	}
}

type packedPart string

func (p *packedPart) Unpack() any {
	return &struct {
		Name string `level:"2"`
	}{string(*p)}
}

func (*packedPart) Pack(any) {}

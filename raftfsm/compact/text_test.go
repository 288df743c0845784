package compact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestATextTakesTheShortestFormAndComesBack(t *testing.T) {
	const aUUID = "0b5e7a10-9c8d-4e6f-8a7b-001122334455"
	cases := []struct {
		name, text string
		bytes      int
	}{
		{"empty", "", 1},
		{"a word", "busybox", 8},
		{"two digits", "f0", 2},
		{"digits of an id", strings.Repeat("0123456789abcdef", 2), 17},
		{"many digits", strings.Repeat("0123456789abcdef", 16), 130},
		{"a UUID", aUUID, 17},
		{"a UUID of a GPU", "GPU-" + aUUID, 17},

		{"an odd number of digits", "f0f", 4},
		{"digits in upper case", "F0", 3},
		{"a letter that is no digit", "f0g0", 5},
		{"a UUID in upper case", strings.ToUpper(aUUID), 38},
		{"a UUID with its dashes elsewhere", "0b5e7a109-c8d-4e6f-8a7b-001122334455", 38},
		{"a UUID without dashes, of as many digits", strings.ReplaceAll(aUUID, "-", "0"), 19},
		{"as many digits after the mark of a GPU", "GPU-" + strings.ReplaceAll(aUUID, "-", "0"), 42},
		{"dashes among other letters", "0b5e7a10-9c8d-4e6f-8a7b-00112233445x", 38},
		{"a UUID of a GPU in upper case", "GPU-" + strings.ToUpper(aUUID), 42},
		{"a UUID of a GPU in lower case", "gpu-" + aUUID, 42},
		{"a UUID of a slice", "MIG-" + aUUID, 42},
		{"one digit too many", aUUID + "0", 39},
		{"a UUID in braces", "{" + aUUID + "}", 40},
		{"the length of a UUID", strings.Repeat("-", uuidLength), 38},
		{"other scripts", "größe 東京", 15},
		{"full-width digits", "００", 7},
		{"what is no UTF-8", "\xff\xfe", 3},
		{"a zero byte", "\x00", 2},
	}
	for _, c := range cases {
		packed := new(Writer).Append(nil, &struct{ S string }{c.text})
		empty := len(new(Writer).Append(nil, &struct{ S string }{}))
		if own := appendText(nil, c.text); len(own) != c.bytes {
			t.Errorf("%s: %q takes %d bytes, want %d", c.name, c.text, len(own), c.bytes)
		}
		if c.text != "" && len(packed) != empty+1+c.bytes { // the 0 of a text that is not known yet
			t.Errorf("%s: %q takes %d bytes in a struct", c.name, c.text, len(packed))
		}
		var got struct{ S string }
		if err := new(Reader).Read(packed, &got); err != nil || got.S != c.text {
			t.Errorf("%s: %q came back as %q, %v", c.name, c.text, got.S, err)
		}
	}
}

func TestATextIsWrittenOnceInAStream(t *testing.T) {
	type named struct {
		Name string
		ID   string `compact:"own"`
	}
	var w Writer
	first := w.Append(nil, &named{"busybox", "f00f"})
	second := w.Append(nil, &named{"busybox", "f00f"})
	if len(first) != 2+1+8+3 || len(second) != 2+1+3 {
		t.Errorf("%d bytes at first, then %d", len(first), len(second))
	}
	var r Reader
	for _, chunk := range [][]byte{first, second} {
		var got named
		if err := r.Read(chunk, &got); err != nil || got != (named{"busybox", "f00f"}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// What is read stays as it was, and short texts share allocations: of small objects a state has millions.
func TestShortTextsShareAllocations(t *testing.T) {
	type texts struct {
		All []string `compact:"own"`
	}
	var value texts
	for i := range 200 {
		value.All = append(value.All, strings.Repeat("x", i%shortText), fmt.Sprintf("GPU-0b5e7a10-9c8d-4e6f-8a7b-%012x", i), fmt.Sprintf("%032x", i))
	}
	value.All = append(value.All, strings.Repeat("y", 10*sharedText))
	written := new(Writer).Append(nil, &value)
	var got texts
	allocations := testing.AllocsPerRun(10, func() {
		got = texts{}
		if err := new(Reader).Read(written, &got); err != nil {
			t.Fatal(err)
		}
	})
	if !slices.Equal(got.All, value.All) {
		t.Errorf("%q came back as %q", value.All, got.All)
	}
	if most := float64(len(value.All) / 4); allocations > most {
		t.Errorf("%d texts take %v allocations, not %v at most", len(value.All), allocations, most)
	}
}

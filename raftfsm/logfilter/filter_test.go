package logfilter

import (
	"strings"
	"testing"
)

func TestAPatternIsBounded(t *testing.T) {
	for pattern, good := range map[string]bool{
		"error|warn": true, `(?i)loss=\d+\.\d{1,6}`: true, strings.Repeat("a", MaxPattern): true, "[0-9]{4}-[0-9]{2}": true,
		strings.Repeat("a", MaxPattern+1): false, "(": false, `(?=lookahead)`: false, `(a)\1`: false, "(.{500}){5}": false, "((a{40}){40}){2}": false, "(?i)" + strings.Repeat(`[B-\x{1e942}]`, 70): false,
	} {
		if _, err := Compile(pattern); (err == nil) != good {
			t.Errorf("%.40s: %v", pattern, err)
		}
	}
}

func TestAFilterTellsLinesByTheirText(t *testing.T) {
	for want, f := range map[string]Filter{
		"one two three": {}, "two three": {Grep: "^t"}, "one": {Grep: "^t", Invert: true}, "": {Grep: "four"},
	} {
		matches, err := f.Matcher()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for text := range strings.FieldsSeq("one two three") {
			if matches(text) {
				got = append(got, text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %q", f, got)
		}
	}
	if (Filter{Invert: true}).Check() == nil || (Filter{Grep: "("}).Check() == nil {
		t.Error("a filter without a good pattern is taken")
	}
}

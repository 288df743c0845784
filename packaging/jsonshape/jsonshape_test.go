package jsonshape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pinion/packaging/jsonshape"
)

func TestCheck(t *testing.T) {
	for text, elements := range map[string]int{
		``:                               0,
		`null`:                           0,
		`{}`:                             1,
		`{"a":1,"b":2}`:                  2,
		`[{},{},{}]`:                     6,
		`{"a":[1,2,3]}`:                  4,
		`["[{,", "\"[{,", "\\", "\\"]`:   4,
		`{"not json": [[[[`:              5,
		`"the end of a string is lost [`: 0,
		`"\`:                             0,
	} {
		if err := jsonshape.Check([]byte(text), elements); err != nil {
			t.Errorf("%s has %d elements, Check says: %v", text, elements, err)
		}
		if err := jsonshape.Check([]byte(text), elements-1); elements > 0 && !errors.Is(err, jsonshape.ErrTooMany) {
			t.Errorf("%s has more than %d elements, Check says: %v", text, elements-1, err)
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	text := []byte(`{"list":[` + strings.Repeat(`{"name":"[a,b]"},`, 1000) + `{}]}`)
	if n := testing.AllocsPerRun(10, func() { _ = jsonshape.Check(text, len(text)) }); n != 0 {
		t.Errorf("Check makes %v allocations", n)
	}
}

// FuzzCheck holds Check to what encoding/json finds in a text that it decodes.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{`{}`, `[]`, `[{},{"":0}]`, `{"a":{"b":[1,"\\",null]},"c":"\"[{,"}`, `[[[]]]`, ` [ 1 , 2 ] `, `"`, `[1,]`, "{\"\xff\":[]}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			_ = jsonshape.Check(text, 10)
			return
		}
		tokens := json.NewDecoder(bytes.NewReader(text))
		tokens.UseNumber()
		elements := elementsOf(t, tokens)
		if err := jsonshape.Check(text, elements); err != nil {
			t.Errorf("%q has %d elements: %v", text, elements, err)
		}
		if elements > 0 && jsonshape.Check(text, elements-1) == nil {
			t.Errorf("%q has %d elements, and Check counts fewer", text, elements)
		}
	})
}

// elementsOf is how many elements the next value has, and those in it; an empty array or object counts as one.
func elementsOf(t *testing.T, tokens *json.Decoder) int {
	next := func() json.Token {
		token, err := tokens.Token()
		if err != nil {
			t.Fatal("valid JSON has: ", err)
		}
		return token
	}
	open, isContainer := next().(json.Delim)
	if !isContainer {
		return 0
	}
	own, inner := 0, 0
	for ; tokens.More(); own++ {
		if open == '{' {
			next()
		}
		inner += elementsOf(t, tokens)
	}
	next()
	return max(own, 1) + inner
}

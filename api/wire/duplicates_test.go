package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestAMemberIsThereOnce(t *testing.T) {
	for body, twice := range map[string]string{
		`{}`: "",
		`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`:   "",
		`{"a":"b:\"c\":\\","\"b\":":":{}","é":[":"]}`: "",
		`{"a":1,"A":2}`: "", // another name, which no structure has
		`{"a":1,"a":1}`: "a",
		`{"a":{"b":[1,{"c":[],"d":{},"c":null}]}}`:  "c",
		`{"a":{"b":1},"c":{"b":2},"a":{}}`:          "a",
		`{"cluster":"mine","clus\u0074er":"yours"}`: "cluster",
	} {
		value, err := parseJSON([]byte(body))
		if twice == "" && err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if twice != "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", twice))) {
			t.Errorf("%s is read as %v, %v", body, value, err)
		}
	}
}

// BenchmarkParse reads a body of usual size.
func BenchmarkParse(b *testing.B) {
	body := []byte(`{"cluster":"default","taskDefinition":"train:17","count":1,"clientToken":"6f1c0b5e","overrides":{"containerOverrides":[{"name":"main","command":["python","train.py","--epochs","3"],"environment":[` +
		strings.Repeat(`{"name":"RANK","value":"0:1"},`, 15) + `{"name":"SEED","value":"7"}]}]},"tags":[{"key":"pinion.team","value":"vision"}]}`)
	value, err := parseJSON(body)
	if err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprintf("whole-%d-bytes", len(body)), func(b *testing.B) {
		for b.Loop() {
			if _, err := parseJSON(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("members", func(b *testing.B) {
		for b.Loop() {
			if err := checkMembers(body, value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

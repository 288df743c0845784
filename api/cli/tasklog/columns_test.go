package tasklog

import (
	"strings"
	"testing"
)

func TestLinesOfJSONAreShownInColumns(t *testing.T) {
	c, err := ParseColumns("level,msg,http.status")
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, line := range []string{
		`{"level":"info","msg":"begins","more":1}`,
		`plain text`,
		`{"level":"warning","msg":"slow\nreally","http":{"status":503}}`,
		`{"msg":null,"http":{}}`,
		` {"level":"x","msg":{"a": [1, 2]}}`,
		`{"level":"broken`,
		`[1]`,
	} {
		got = append(c.Append(got, line), '\n')
	}
	want := strings.Join([]string{
		"info  begins",
		"plain text",
		"warning  slow really  503",
		"",
		`x        {"a":[1,2]}`,
		`{"level":"broken`,
		"[1]",
		"",
	}, "\n")
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, bad := range []string{"", "a,", strings.Repeat("a,", maxColumns) + "a"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

package wire

import (
	"fmt"
	"strings"
	"testing"
)

// A body of a few KiB stands for no more than a JSON body may hold: an alias is two bytes, whatever it names.
func TestAliasesOfYAMLStandForABoundedText(t *testing.T) {
	long := fmt.Sprintf("a: &a %s\n", strings.Repeat("x", 10<<10))
	nested := long + "l0: &l0 [*a]\n"
	for i := range 3 {
		nested += fmt.Sprintf("l%d: &l%d [%s*l%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d, ", i), 9), i)
	}
	for name, body := range map[string]string{
		"many of one text":   long + "b: [" + strings.Repeat("*a, ", 2000) + "*a]\n",
		"each of ten others": nested,
		"of itself":          "a: &a [*a]\n",
	} {
		if _, err := parseYAML([]byte(body)); err == nil {
			t.Errorf("%s: %d bytes are taken", name, len(body))
		}
	}
	got, err := parseYAML([]byte("a: &a {image: i}\nb: {<<: *a, family: f}\nc: *a\n"))
	if err != nil || fmt.Sprint(got) != "map[a:map[image:i] b:map[family:f image:i] c:map[image:i]]" {
		t.Errorf("few aliases: %v, %v", got, err)
	}
}

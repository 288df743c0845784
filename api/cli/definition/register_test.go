package definition

import (
	"strings"
	"testing"
)

func TestTheTypeOfADocumentIsSeenInItsBeginning(t *testing.T) {
	for document, want := range map[string]string{" {\"cpu\": }": "application/json", "cpu: 1\n": "application/yaml", "": "application/yaml"} {
		if got := documentType([]byte(document)); got != want {
			t.Errorf("%q: %s", document, got)
		}
	}
}

func TestRegisterCanGiveTheFamily(t *testing.T) {
	cases := map[string]struct{ document, sent, says string }{
		"json":       {`{"cpu":"1","family":"old"}`, `{"cpu":"1","family":"new"}`, ""},
		"yaml":       {"gpuCount: 1\nversion: \"1.3\"\n", `{"family":"new","gpuCount":1,"version":"1.3"}`, ""},
		"bad json":   {`{"cpu": }`, "", "not a task definition: invalid character '}'"},
		"bad yaml":   {"cpu: [", "", "not a YAML document"},
		"said twice": {"cpu: 1\ncpu: 2\n", "", `key "cpu" already set`},
		"nothing":    {"", "", "the document is empty"},
		"a list":     {"- 1", "", "not a task definition"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := replaceFamily([]byte(c.document), "new")
			if string(got) != c.sent || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %v; want %s, %q", got, err, c.sent, c.says)
			}
		})
	}
}

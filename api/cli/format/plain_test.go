package format

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestPlainTextControlsNoTerminal(t *testing.T) {
	if got := Plain("a\x1b]0;x\a\u009b31m\u202eb\n\tc\x7f"); got != "a ]0;x  31m b\n\tc " {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		if got := strings.NewReplacer("\n", "", "\t", "").Replace(Plain(text)); strings.ContainsFunc(got, unicode.IsControl) {
			r.Errorf("%q", got)
		}
		encoded, err := json.Marshal(map[string]string{"name": text + "\u009b\u202e"})
		if err != nil {
			r.Fatal(err)
		}
		var out bytes.Buffer
		if err := PlainJSON(&out, append(encoded, '\n')); err != nil {
			r.Fatal(err)
		}
		if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), controlsTerminal) {
			r.Errorf("%q", out.String())
		}
		var before, after any
		if json.Unmarshal(encoded, &before) != nil || json.Unmarshal(out.Bytes(), &after) != nil || before.(map[string]any)["name"] != after.(map[string]any)["name"] {
			r.Errorf("%q is another document than %q", out.String(), encoded)
		}
	})
}

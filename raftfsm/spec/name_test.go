package spec

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestANameIsWhatECSTakes(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9_-]{0,257}`).Draw(t, "name") + rapid.SampledFrom([]string{"", "", " ", "\n", "é", "/", "@", "[", "`", "{"}).Draw(t, "more")
		if got := ValidName(name); got != form.MatchString(name) {
			t.Errorf("%q: %v", name, got)
		}
	})
}

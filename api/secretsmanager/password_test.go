package secretsmanager

import (
	"strings"
	"testing"
)

func TestPasswords(t *testing.T) {
	f := newFixture(t)
	all := lowercase + uppercase + numbers + punctuation
	for _, c := range []struct {
		body, of string
		length   int
		each     []string
	}{
		{`{}`, all, 32, []string{lowercase, uppercase, numbers, punctuation}},
		{`{"PasswordLength":4}`, all, 4, []string{lowercase, uppercase, numbers, punctuation}},
		{`{"PasswordLength":5,"IncludeSpace":true}`, all + space, 5, []string{lowercase, uppercase, numbers, punctuation, space}},
		{`{"PasswordLength":1,"RequireEachIncludedType":false}`, all, 1, nil},
		{`{"PasswordLength":4096,"ExcludePunctuation":true}`, lowercase + uppercase + numbers, 4096, []string{lowercase, uppercase, numbers}},
		{`{"ExcludeLowercase":true,"ExcludeUppercase":true,"ExcludeNumbers":true}`, punctuation, 32, []string{punctuation}},
		{`{"ExcludeCharacters":"0123456789abc"}`, strings.Trim(all, "abc"), 32, []string{lowercase, uppercase, punctuation}},
		{`{"ExcludeCharacters":"` + uppercase + lowercase + `012345678","ExcludePunctuation":true}`, "9", 32, []string{"9"}},
	} {
		seen := map[string]bool{}
		for range 20 {
			got := member(t, f.must(t, "GetRandomPassword", c.body), "RandomPassword")
			if len(got) != c.length || strings.Trim(got, c.of) != "" {
				t.Errorf("%s: %q", c.body, got)
			}
			for _, kind := range c.each {
				if !strings.ContainsAny(got, kind) {
					t.Errorf("%s: %q has none of %s", c.body, got, kind)
				}
			}
			seen[got] = true
		}
		if c.length > 1 && len(c.of) > 1 && len(seen) < 20 {
			t.Errorf("%s: %d of 20 are different", c.body, len(seen))
		}
	}
}

// Each character comes about as often as the others.
func TestPasswordsAreEven(t *testing.T) {
	counts := map[byte]int{}
	const of, passes = alphanumerics, 62_000
	for range passes {
		counts[pick(of)]++
	}
	for i := range len(of) {
		if n := counts[of[i]]; n < 800 || n > 1200 { // 1000, and six standard deviations
			t.Errorf("%c comes %d times", of[i], n)
		}
	}
}
